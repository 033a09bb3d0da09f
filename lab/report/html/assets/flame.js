// Draws the flame graphs on the page: one variant's, or the difference of two, per request. It makes no
// network requests.
(() => {
  'use strict';
  const {css, make, figure} = dynoCharts, {data, onRedraw} = dynoPage;
  const flames = data.flames, area = document.getElementById('flame');
  if (!area || !flames || !flames.graphs.length) return;
  const by = id => document.getElementById('flame-' + id);
  const kind = by('kind'), first = by('a'), second = by('b'), box = by('search'), found = by('found'), read = by('read'), about = by('about'), key = by('key');
  const cell = 19; // px, the height of a frame
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  let chart, place, root, current, zoomed, difference = false, farthest = 1, unit = '', width = 0;

  // The trees. A frame has its function, where most of it was, and what it cost on either side.
  const graph = (variant, kind) => flames.graphs.find(g => g.variant === variant && g.kind === kind);
  // Totals are not compared: they depend on the length and the load of the profile.
  const comparable = (a, b) => a.unit === b.unit && (a.kind === 'goroutine' || a.unit.endsWith(' per request'));
  const frame = (f, line) => ({f, line, a: 0, b: 0, kids: new Map()});
  const grow = (into, g, side) => {
    const way = [into];
    g.f.forEach((f, i) => {
      const kids = way[g.d[i]].kids;
      if (!kids.has(f)) kids.set(f, frame(f, g.l[i]));
      const n = way[g.d[i] + 1] = kids.get(f);
      n[side] += g.s[i];
    });
  };
  // A frame is as wide as the larger of its two sides, so that what is gone can be seen too. a and b become
  // totals.
  const settle = n => {
    n.value = Math.max(n.a, n.b);
    n.selfA = n.a; n.selfB = n.b;
    n.name = n.f < 0 ? 'all' : flames.functions[n.f];
    n.children = [...n.kids.values()].map(settle);
    for (const c of n.children) { n.value += c.value; n.a += c.a; n.b += c.b; }
    delete n.kids;
    return n;
  };

  // widest is the largest difference of any frame: the colours are against it, so that small ones, which
  // few samples show, stay pale.
  const widest = n => n.children.reduce((most, c) => Math.max(most, widest(c)), Math.abs(n.b - n.a));

  const channels = color => [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));
  const mix = (from, to, share) => 'rgb(' + channels(from).map((v, i) => Math.round(v + (channels(to)[i] - v) * share)).join(',') + ')';
  const shade = name => { let h = 0; for (const c of name) h = (h * 31 + c.charCodeAt(0)) % 97; return h / 97 * .22; };
  const origins = ['rest', 'service', 'library', 'std', 'runtime'];
  const paint = d => {
    if (d.highlight) return css('--flame-found');
    if (!difference) return d.data.f < 0 ? css('--flame-rest') : mix(css('--flame-' + origins[flames.origins[d.data.f]]), css('--card'), shade(d.data.name));
    const {a, b} = d.data;
    return mix(css('--flame-same'), css(b > a ? '--flame-more' : '--flame-less'), Math.sqrt(Math.abs(b - a) / farthest));
  };
  // What fits on a frame: the function without its package's folders, or its last name alone
  // (that of a closure with the function it is in).
  const brief = d => {
    const name = d.data.name.replace(/^[^([]*\//, '');
    return name.length * 7 > (d.x1 - d.x0) * width ? (/[^.]+(\.(func|gowrap)?\d+)*$/.exec(name) || [name])[0] : name;
  };

  const percent = v => (v * 100 < .1 ? '<0.1' : (v * 100).toFixed(1)) + '%';
  const signed = v => (v > 0 ? '+' : v < 0 ? '−' : '±') + figure(Math.abs(v));
  const describe = d => {
    const n = d.data, file = n.f > 0 && flames.files[n.f] && flames.files[n.f] !== '.' ? ` (${flames.files[n.f]}${n.line ? ':' + n.line : ''})` : '';
    const own = n.children && n.children.length ? '; self ' : '';
    if (!difference) return `${n.name}${file}: ${figure(n.a)} ${unit}, ${percent(n.a / root.a)} of all${own && own + figure(n.selfA)}`;
    const change = n.a && n.b ? ` (${signed((n.b / n.a - 1) * 100)}%)` : n.b > n.a ? ' (new)' : ' (gone)';
    return `${n.name}${file}: ${figure(n.a)} in ${label(first.value)}, ${figure(n.b)} in ${label(second.value)}: ${signed(n.b - n.a)} ${unit}${change}${own && own + signed(n.selfB - n.selfA)}`;
  };
  const label = variant => variant || 'the target';

  const nodes = () => [...area.querySelectorAll('g.frame')];
  const node = d => nodes().find(g => g.__data__ === d);
  const mark = () => {
    for (const g of nodes()) g.classList.toggle('current', g.__data__ === current);
  };
  const showDetail = d => { read.textContent = d ? describe(d) : current ? describe(current) : zoomed && zoomed.parent ? describe(zoomed) : '\u00a0'; };
  const remember = d => {
    const parts = [first.value, kind.value, d && d.parent ? d.data.name : ''];
    try { history.replaceState(null, '', '#flame=' + parts.map(encodeURIComponent).join(',')); } catch { /* a page in a sandbox has no history */ }
  };

  const draw = () => {
    const a = graph(first.value, kind.value), b = second.value === '-' ? null : graph(second.value, kind.value);
    difference = Boolean(a && b && a !== b && comparable(a, b));
    const tree = frame(-1, 0);
    if (a) grow(tree, a, 'a');
    if (difference) grow(tree, b, 'b');
    root = settle(tree);
    farthest = widest(root) || 1;
    unit = a ? a.unit : '';
    current = zoomed = null;
    key.className = difference ? 'key flames difference' : 'key flames';
    if (!a) about.textContent = `There is no such profile of ${label(first.value)}.`;
    else if (difference) about.textContent = `${label(second.value)} less ${label(first.value)}, ${unit}: ${figure(root.b)} less ${figure(root.a)}, ${signed(root.b - root.a)}. Red costs more in ${label(second.value)}, blue less, the more so the stronger; a frame is as wide as the larger of the two.`;
    else about.textContent = `${label(first.value)}: ${figure(root.a)} ${unit}` + (a.about ? ', profiled ' + a.about : '') + '.' +
      (second.value === '-' || second.value === first.value ? '' : b ? ` It is not compared with ${label(second.value)}: the requests were not counted.` : ` There is nothing to compare it with in ${label(second.value)}.`);
    width = Math.max(200, Math.floor(area.clientWidth));
    place = make('div', {className: 'graph'});
    area.replaceChildren(place);
    chart = d3flame.flamegraph().width(width).cellHeight(cell).inverted(true).minFrameSize(1).resetHeightOnZoom(true)
      .transitionDuration(still.matches ? 0 : 200).sort((x, y) => (x.data.f === 0) - (y.data.f === 0) || y.data.value - x.data.value)
      .getName(brief).tooltip(quiet).setColorMapper(paint).setLabelHandler(describe).setSearchMatch(matches).setSearchHandler(counted).setDetailsHandler(() => {})
      .onHover(showDetail).onClick(d => {
        zoomed = d; current = d.parent ? d : null;
        place.querySelector('svg').removeAttribute('viewBox'); // its height is another now
        showDetail(); mark(); remember(d);
      });
    d3flame.select(place).datum(root).call(chart);
    if (box.value) chart.search(box.value); else found.textContent = '';
    finish();
    showDetail();
  };
  // finish ends animations immediately: printing does not wait for them, nor does opening a page. The box lets a
  // narrower sheet scale the graph.
  const finish = () => {
    d3flame.select(place).selectAll('*').interrupt();
    const svg = place.querySelector('svg');
    svg.setAttribute('viewBox', `0 0 ${width} ${svg.getAttribute('height')}`);
    for (const g of nodes()) {
      const d = g.__data__;
      g.setAttribute('transform', `translate(${d.x0 * width},${d.depth * cell})`);
      g.querySelector('rect').setAttribute('width', (d.x1 - d.x0) * width);
      g.querySelector('div').textContent = brief(d);
    }
  };
  // The line below replaces the tooltip.
  const quiet = () => {};
  quiet.show = quiet.hide = () => showDetail();

  const matches = (d, term) => Boolean(term) && d.data.name.toLowerCase().includes(term.toLowerCase());
  // What a search found, each stack once.
  const counted = () => {
    let frames = 0, a = 0, b = 0;
    const walk = (d, within) => {
      if (d.highlight) { frames++; if (!within) { a += d.data.a; b += d.data.b; } }
      for (const c of d.children || []) walk(c, within || d.highlight);
    };
    walk(place.__data__, false);
    found.textContent = !frames ? 'nothing found' : difference
      ? `${frames} found: ${figure(a)} and ${figure(b)}, ${signed(b - a)} ${unit}`
      : `${frames} found: ${figure(a)} ${unit}, ${percent(a / root.a)}`;
  };
  const search = () => {
    if (box.value) chart.search(box.value);
    else { chart.clear(); found.textContent = ''; }
    mark();
  };
  const reset = () => {
    if (box.value) { box.value = ''; search(); }
    current = null;
    chart.resetZoom();
    showDetail();
  };

  // goTo shows where a function is: the widest of its frames fills the graph.
  const goTo = name => {
    box.value = name;
    search();
    let to = null;
    (function walk(d) {
      if (d.data.name === name && (!to || d.data.value > to.data.value)) to = d;
      for (const c of d.children || []) walk(c);
    })(place.__data__);
    if (to) chart.zoomTo(to);
    else read.textContent = `${name} is not in this graph: less than ${percent(flames.least)} of it is, in one place.`;
  };
  const follow = () => {
    const link = /^#flame=([^,]*),([^,]*),?(.*)$/.exec(location.hash);
    if (!link) return;
    const [variant, what, name] = link.slice(1).map(s => { try { return decodeURIComponent(s); } catch { return s; } });
    if (!graph(variant, what)) return;
    first.value = variant; kind.value = what; second.value = '-'; box.value = '';
    draw();
    if (name) goTo(name);
    document.getElementById('flames').scrollIntoView();
  };
  addEventListener('hashchange', follow);
  // A link that was followed already changes no address.
  addEventListener('click', e => {
    const a = e.target.closest && e.target.closest('a[href^="#flame="]');
    if (a && a.getAttribute('href') === location.hash) follow();
  });

  for (const s of [kind, first, second]) s.addEventListener('change', () => { draw(); remember(null); });
  box.addEventListener('input', search);
  by('reset').addEventListener('click', () => { reset(); remember(null); });
  document.getElementById('flames').addEventListener('keydown', e => {
    if (e.key === 'Escape') { e.preventDefault(); reset(); remember(null); }
  });
  // The arrows walk through the frames as they lie.
  area.addEventListener('keydown', e => {
    if (e.target !== area) return;
    const at = current || zoomed || place.__data__;
    const seen = d => d && node(d);
    const beside = step => {
      const row = (at.parent ? at.parent.children : [at]).filter(seen);
      return row[row.indexOf(at) + step];
    };
    const to = {ArrowDown: () => (at.children || []).find(seen), ArrowUp: () => at.parent, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), Home: () => place.__data__}[e.key];
    if (to) {
      e.preventDefault();
      current = to() || at;
      mark(); showDetail();
      node(current)?.scrollIntoView({block: 'nearest', behavior: 'instant'});
    } else if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      chart.zoomTo(at);
    }
  });

  new ResizeObserver(() => {
    const now = Math.floor(area.clientWidth);
    if (now < 1 || Math.abs(now - width) < 2) return;
    width = Math.max(200, now);
    chart.width(width).update();
    finish();
    mark();
  }).observe(area);
  // A frame of the graph as it was drawn before is found again by the way to it.
  const again = d => d.parent ? ((again(d.parent) || {}).children || []).find(c => c.data.f === d.data.f) : place.__data__;
  onRedraw(() => {
    const at = zoomed;
    draw();
    const to = at && at.parent && again(at);
    if (to) { chart.zoomTo(to); finish(); }
  });
  draw();
  follow();
})();

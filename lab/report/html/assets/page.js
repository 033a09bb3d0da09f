// Puts the charts on the page. The tables are there without it. It makes no network requests.
(() => {
  'use strict';
  const {css, color, make, figure, round, axis, yScale, yAxis, boundLine, panelsOf, room, panel, walk} = dynoCharts;
  const data = JSON.parse(document.getElementById('data').textContent);

  // Every chart keeps the width of its place.
  const drawn = new Map();
  const watch = new ResizeObserver(entries => {
    for (const e of entries) {
      const u = drawn.get(e.target);
      if (u && Math.abs(u.width - e.contentRect.width) > 1 && e.contentRect.width > 0) u.setSize({width: Math.floor(e.contentRect.width), height: u.height});
    }
  });
  const keep = (place, u) => {
    drawn.set(place, u);
    watch.observe(place);
    return u;
  };
  const forget = place => {
    watch.unobserve(place);
    drawn.get(place)?.destroy();
    drawn.delete(place);
  };

  // A chart of figures against the offered rate. A group's lines share a colour and differ in dash.
  const dashes = [[], [5, 4], [2, 3]];
  const xyChart = (place, c) => {
    const hidden = new Set();
    const toggles = make('div', {className: 'toggles'}), area = make('div', {className: 'plotarea'}), read = make('output', {className: 'read', textContent: '\u00a0'});
    const lines = c.groups.flatMap((g, i) => g.lines.map((l, j) => ({group: g.name, line: l, color: g.hue, dash: dashes[(g.dash + j) % 3], index: i})));
    let u, at = -1;
    // Points in the order in which the arrow keys walk through them.
    const stops = () => {
      const out = [];
      lines.forEach((l, s) => hidden.has(l.index) || l.line.y.forEach((v, i) => v != null && out.push({s, i, x: c.x[i], v})));
      return out.sort((a, b) => a.x - b.x || a.s - b.s);
    };
    const say = p => {
      const l = lines[p.s];
      read.textContent = `${l.group} ${l.line.name}: ${figure(p.v)}${c.log ? ' ms' : '/s'} at ${figure(p.x)}/s offered`;
    };
    const nearest = () => {
      const {left, top} = u.cursor;
      if (left == null || left < 0) return;
      let best, far = 40 * 40;
      for (const p of stops()) {
        const d = (u.valToPos(p.x, 'x') - left) ** 2 + (u.valToPos(p.v, 'y') - top) ** 2;
        if (d < far) { far = d; best = p; }
      }
      if (best) say(best);
    };
    const draw = () => {
      forget(area);
      toggles.replaceChildren(...c.groups.map((g, i) => {
        const swatch = make('i');
        const ink = color(g.hue), on = [0, 4, 2][g.dash % 3];
        swatch.style.background = on ? `repeating-linear-gradient(90deg, ${ink} 0 ${on}px, transparent ${on}px ${on + 2}px)` : ink;
        const b = make('button', {type: 'button'}, swatch, g.name);
        b.setAttribute('aria-pressed', String(!hidden.has(i)));
        b.addEventListener('click', () => {
          hidden.has(i) ? hidden.delete(i) : hidden.add(i);
          b.setAttribute('aria-pressed', String(!hidden.has(i)));
          lines.forEach((l, s) => l.index === i && u.setSeries(s + 1, {show: !hidden.has(i)}));
        });
        return b;
      }));
      u = keep(area, new uPlot({
        width: Math.max(200, Math.floor(area.clientWidth)), height: 340, legend: {show: false},
        cursor: {y: false, drag: {x: true, y: false}, points: {show: false}},
        scales: {x: {time: false, range: (u, lo, hi) => lo === hi ? [lo * .9, hi * 1.1 + 1] : [lo - (hi - lo) * .03, hi + (hi - lo) * .03]}, y: yScale(c.log, c.bound)},
        axes: [axis({label: c.x_name, size: 30, space: 70}), yAxis(c.log, {label: c.y_name})],
        series: [{}, ...lines.map(l => ({
          label: l.group + ' ' + l.line.name, stroke: color(l.color), width: 1.75, dash: l.dash, spanGaps: true, show: !hidden.has(l.index),
          points: {show: true, size: 6, fill: color(l.color), stroke: css('--card'), width: 1},
        }))],
        hooks: {draw: [boundLine(c.bound)], setCursor: [nearest]},
      }, [c.x, ...lines.map(l => l.line.y)], area));
    };
    place.append(toggles, area, read);
    place.addEventListener('keydown', e => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
      const all = stops();
      if (!step || e.target !== place || !all.length) return;
      e.preventDefault();
      at = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step));
      u.setCursor({left: u.valToPos(all[at].x, 'x'), top: u.valToPos(all[at].v, 'y')}, false);
      say(all[at]);
    });
    draw();
    return draw;
  };

  const series = () => {
    const box = document.getElementById('panels'), select = document.getElementById('run'), at = document.getElementById('at'), every = document.getElementById('every');
    if (!box || !data.traces || !data.traces.length) return () => {};
    let charts = [], trace, index = -1;
    const move = i => {
      index = i;
      for (const u of charts) u.setCursor({left: u.valToPos(trace.t[index], 'x'), top: 10}, false);
      showPoint(index);
    };
    const showPoint = i => {
      const x = trace.t[i];
      const band = trace.bands.find(b => x >= b.from && x < b.to);
      at.textContent = 'at ' + x.toFixed(1) + ' s' + (band ? ' (' + band.phase + ')' : '');
    };
    const draw = () => {
      for (const p of box.querySelectorAll('.plotarea')) forget(p);
      trace = data.traces[Number(select.value)] || data.traces[0];
      every.textContent = trace.every_s > .1001 ? `A point stands for up to ${round(trace.every_s)} s: rates are means, latencies and peaks the worst.` : 'A point stands for 0.1 s.';
      const panels = panelsOf(trace.series, trace.gauges, y => y), gauges = panels.filter(p => p.gauge).length;
      const more = make('details', {className: 'gauges'}, make('summary', {textContent: gauges + (gauges === 1 ? ' gauge' : ' gauges') + ' of the service'}), make('div'));
      more.open = !!box.querySelector('.gauges[open]');
      box.replaceChildren();
      const places = panels.map(p => {
        const area = make('div', {className: 'plotarea'});
        (p.gauge ? more.lastChild : box).append(room(p, area));
        return area;
      });
      if (gauges) box.append(more);
      const hidden = new Set();
      charts = panels.map((p, n) => keep(places[n], panel(places[n], p, trace.t, {
        bands: () => trace.bands, bound: trace.slo_ms, hidden, zoom: true, at: i => { index = i; showPoint(i); }, move,
      })));
      index = -1;
      at.textContent = '\u00a0';
    };
    walk(box, () => trace.t.length, () => index, move);
    select.addEventListener('change', draw);
    draw();
    return draw;
  };

  const redraws = [series()];
  for (const c of data.charts || []) {
    const place = document.getElementById(c.id);
    if (place && c.groups) redraws.push(xyChart(place, c));
  }
  const redraw = () => redraws.forEach(f => f());
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  const paper = on => () => { document.documentElement.toggleAttribute('data-paper', on); redraw(); };
  addEventListener('beforeprint', paper(true));
  addEventListener('afterprint', paper(false));
  globalThis.dynoPage = {data, onRedraw: f => redraws.push(f)}; // for flame.js
})();

// Puts the charts on the page. The tables are there without it. It makes no network requests.
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = i => css('--c' + i % 8);
  const make = (tag, props, ...children) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...children);
    return e;
  };

  // Figures as the tables write them: about three significant digits, thousands separated.
  const figure = v => {
    if (v == null) return '–';
    const a = Math.abs(v);
    if (a === 0) return '0';
    if (a >= 999.5) return Number(v.toPrecision(3)).toLocaleString('en-US');
    if (a >= 0.9995) return v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2);
    return String(Number(v.toPrecision(2)));
  };
  const round = v => Math.abs(v) >= 1000 ? figure(v) : String(Number(v.toPrecision(3)));
  // Short forms for an axis, all in one unit.
  const units = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
  const short = splits => {
    const most = Math.max(...splits.map(v => Math.abs(v ?? 0)));
    const [by, unit] = units.find(([u]) => most >= 10 * u) || [1, ''];
    return splits.map(v => v == null ? '' : v === 0 ? '0' : round(v / by) + unit);
  };
  // On a logarithmic axis each figure finds its own.
  const shortEach = splits => splits.map(v => short([v])[0]);

  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  const axis = more => ({
    stroke: css('--dim'), font, labelFont: font, labelSize: 18, labelGap: 0, ticks: {show: false},
    grid: {stroke: css('--rule'), width: 1}, values: (u, splits) => short(splits), ...more,
  });
  // A logarithmic scale that has room for the data and the SLO's line.
  const logRange = bound => (u, lo, hi) => {
    if (lo == null) return [1, 10];
    if (bound != null) { lo = Math.min(lo, bound); hi = Math.max(hi, bound); }
    return [lo / 1.25, hi * 1.25];
  };
  const linearRange = (u, lo, hi) => hi == null || hi <= 0 ? [0, 1] : [Math.min(0, lo), hi * 1.08];
  // Round figures on a logarithmic axis: 1, 2, 5 where they fit, else whole decades.
  const logSplits = (u, i, lo, hi) => {
    const steps = hi / lo > (u.height > 200 ? 2000 : 300) ? [1] : [1, 2, 5], out = [];
    for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++)
      for (const s of steps) {
        const v = Number((s * 10 ** e).toPrecision(1));
        if (v >= lo && v <= hi) out.push(v);
      }
    return out;
  };
  const yScale = (log, bound) => log ? {distr: 3, range: logRange(bound)} : {range: linearRange};
  const yAxis = (log, more) => axis({size: 48, ...(log ? {splits: logSplits, filter: (u, s) => s, values: (u, s) => shortEach(s)} : {}), ...more});

  // boundLine draws the SLO across a chart.
  const boundLine = bound => u => {
    if (bound == null) return;
    const y = u.valToPos(bound, 'y', true), {ctx, bbox: b} = u;
    if (y < b.top || y > b.top + b.height) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css('--bad');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath(); ctx.moveTo(b.left, y); ctx.lineTo(b.left + b.width, y); ctx.stroke();
    ctx.font = 11 * devicePixelRatio + 'px system-ui, sans-serif';
    ctx.textAlign = 'left'; ctx.textBaseline = 'bottom';
    ctx.fillText('SLO ' + round(bound) + ' ms', b.left + 4 * devicePixelRatio, y - 2 * devicePixelRatio);
    ctx.restore();
  };

  // Every chart keeps the width of its place.
  const drawn = new Map();
  const watch = new ResizeObserver(entries => {
    for (const e of entries) {
      const u = drawn.get(e.target);
      if (u && Math.abs(u.width - e.contentRect.width) > 1 && e.contentRect.width > 0) u.setSize({width: Math.floor(e.contentRect.width), height: u.height});
    }
  });
  const plot = (place, opts, values) => {
    const u = new uPlot({width: Math.max(200, Math.floor(place.clientWidth)), ...opts}, values, place);
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
      u = plot(area, {
        height: 340, legend: {show: false},
        cursor: {y: false, drag: {x: true, y: false}, points: {show: false}},
        scales: {x: {time: false, range: (u, lo, hi) => lo === hi ? [lo * .9, hi * 1.1 + 1] : [lo - (hi - lo) * .03, hi + (hi - lo) * .03]}, y: yScale(c.log, c.bound)},
        axes: [axis({label: c.x_name, size: 30, space: 70}), yAxis(c.log, {label: c.y_name})],
        series: [{}, ...lines.map(l => ({
          label: l.group + ' ' + l.line.name, stroke: color(l.color), width: 1.75, dash: l.dash, spanGaps: true, show: !hidden.has(l.index),
          points: {show: true, size: 6, fill: color(l.color), stroke: css('--card'), width: 1},
        }))],
        hooks: {draw: [boundLine(c.bound)], setCursor: [nearest]},
      }, [c.x, ...lines.map(l => l.line.y)]);
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

  const panelsOf = t => {
    const out = [];
    for (const k of panelKinds) {
      const lines = Object.entries(k.lines).filter(([key]) => t.series[key]).map(([key, label]) => ({label, y: t.series[key]}));
      if (lines.length) out.push({...k, lines});
    }
    for (const [name, y] of Object.entries(t.gauges)) out.push({title: name, unit: 'gauge', lines: [{label: 'value', y}], gauge: true});
    return out;
  };

  const shade = bands => u => {
    const {ctx, bbox: b} = u;
    ctx.save();
    ctx.beginPath(); ctx.rect(b.left, b.top, b.width, b.height); ctx.clip();
    for (const band of bands) {
      const from = u.valToPos(band.from, 'x', true), to = u.valToPos(band.to, 'x', true);
      ctx.fillStyle = css('--band-' + band.phase) || css('--band-drain');
      ctx.fillRect(from, b.top, to - from, b.height);
    }
    ctx.restore();
  };

  const series = () => {
    const box = document.getElementById('panels'), select = document.getElementById('run'), at = document.getElementById('at'), every = document.getElementById('every');
    if (!box || !data.traces || !data.traces.length) return () => {};
    let charts = [], trace, index = -1;
    const move = i => {
      const n = trace.t.length;
      index = Math.max(0, Math.min(n - 1, i));
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
      const panels = panelsOf(trace), gauges = panels.filter(p => p.gauge).length;
      const more = make('details', {className: 'gauges'}, make('summary', {textContent: gauges + (gauges === 1 ? ' gauge' : ' gauges') + ' of the service'}), make('div'));
      more.open = !!box.querySelector('.gauges[open]');
      box.replaceChildren();
      const places = panels.map(p => {
        const area = make('div', {className: 'plotarea'});
        (p.gauge ? more.lastChild : box).append(make('div', {className: 'panel'}, make('h4', {}, p.title, make('span', {textContent: p.unit ? ' ' + p.unit : ''})), area));
        return area;
      });
      if (gauges) box.append(more);
      charts = panels.map((p, n) => {
        const u = plot(places[n], {
          height: 164,
          cursor: {y: false, sync: {key: 'series', setSeries: false}, drag: {x: true, y: false}},
          legend: {live: true, markers: {fill: (u, i) => color(i - 1), width: 0}},
          scales: {x: {time: false}, y: yScale(p.log, p.log ? trace.slo_ms : null)},
          axes: [axis({size: 24, values: (u, s) => s.map(v => v + ' s')}), yAxis(p.log)],
          series: [{label: 's'}, ...p.lines.map((l, i) => ({
            label: l.label, stroke: color(i), width: 1.5, value: (u, v) => figure(v), points: {show: false}, dash: i > 2 ? [3, 3] : [],
          }))],
          hooks: {
            drawClear: [shade(trace.bands)], draw: [boundLine(p.log ? trace.slo_ms : null)],
            setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0 && u.cursor.event) { index = u.cursor.idx; showPoint(index); } }],
          },
        }, [trace.t, ...p.lines.map(l => l.y)]);
        touch(u);
        for (const th of u.root.querySelectorAll('.u-series:not(:first-child) th')) toggle(th);
        return u;
      });
      index = -1;
      at.textContent = '\u00a0';
    };
    // A legend's entry is a button.
    const toggle = th => {
      th.tabIndex = 0;
      th.setAttribute('role', 'button');
      const tellPressed = () => th.setAttribute('aria-pressed', String(!th.parentNode.classList.contains('u-off')));
      th.addEventListener('click', tellPressed);
      th.addEventListener('keydown', e => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        th.click();
      });
      tellPressed();
    };
    // A finger moves the cursor sideways; up and down still scroll the page.
    const touch = u => u.over.addEventListener('touchmove', e => {
      const left = e.touches[0].clientX - u.over.getBoundingClientRect().left;
      move(u.posToIdx(Math.max(0, Math.min(u.over.clientWidth, left))));
    }, {passive: true});
    box.addEventListener('keydown', e => {
      if (e.target !== box) return;
      const by = e.shiftKey ? 10 : 1, n = trace.t.length;
      const to = {ArrowRight: index + by, ArrowLeft: (index < 0 ? n : index) - by, Home: 0, End: n - 1}[e.key];
      if (to == null) return;
      e.preventDefault();
      move(to);
    });
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
  globalThis.dynoPage = {data, css, make, figure, onRedraw: f => redraws.push(f)}; // for flame.js
})();

// What the charts of the report share with those of a run in progress: figures, axes, and the panels of a run's
// series. It makes no network requests.
const dynoCharts = (() => {
  'use strict';
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

  // shade marks the phases of a run that were not measured.
  const shade = bands => u => {
    const {ctx, bbox: b} = u;
    ctx.save();
    ctx.beginPath(); ctx.rect(b.left, b.top, b.width, b.height); ctx.clip();
    for (const band of bands()) {
      const from = u.valToPos(band.from, 'x', true), to = u.valToPos(band.to, 'x', true);
      ctx.fillStyle = css('--band-' + band.phase) || css('--band-drain');
      ctx.fillRect(from, b.top, to - from, b.height);
    }
    ctx.restore();
  };

  // The panels of a run's series. A panel without a line that shows something is left out.
  const panelKinds = [
    {title: 'Rate', unit: 'per second', lines: {offered: 'offered', achieved: 'achieved', delivered: 'delivered', refused: 'refused', failed: 'failed'}},
    {title: 'Latency', unit: 'ms', log: true, lines: {p99: 'p99', p50: 'p50', delivery_p99: 'delivery p99'}},
    {title: 'Backlog', unit: 'offered, not finished', lines: {backlog: 'backlog'}},
    {title: 'Frames', unit: 'per second, all sessions', lines: {frames: 'frames'}},
    {title: 'Received', unit: 'MiB per second, all sessions', lines: {bytes_in: 'received'}},
    {title: 'Lost sessions', unit: 'in a window', lines: {lost: 'lost'}},
    {title: 'CPU', unit: 'cores', lines: {cpu: 'service', generator_cpu: 'generator'}},
    {title: 'Waiting', unit: 'seconds per second', lines: {delay: 'run queue', mutex_wait: 'mutexes'}},
    {title: 'Memory', unit: 'MiB', lines: {heap_live: 'live', heap_goal: 'goal', rss: 'RSS'}},
    {title: 'GC pauses', unit: 'ms in 100 ms', lines: {gc_pause: 'pause'}},
    {title: 'Goroutines', unit: '', lines: {goroutines: 'goroutines'}},
    {title: 'Allocations', unit: 'objects per second', lines: {allocs: 'allocations'}},
  ];
  const panelsOf = (series, gauges, shows) => {
    const out = [];
    for (const k of panelKinds) {
      const lines = Object.entries(k.lines).filter(([key]) => shows(series[key])).map(([key, label]) => ({label, y: series[key]}));
      if (lines.length) out.push({...k, lines});
    }
    for (const name of Object.keys(gauges).sort()) if (shows(gauges[name])) out.push({title: name, unit: 'gauge', lines: [{label: 'value', y: gauges[name]}], gauge: true});
    return out;
  };

  // room is the place of a panel.
  const room = (p, area) => make('div', {className: 'panel'}, make('h3', {}, p.title, make('span', {textContent: p.unit ? ' ' + p.unit : ''})), area);

  // panel draws a panel over the times t. o has its bands, the SLO's bound, the hidden lines by panel and label, the
  // scale and the zoom of the times, and what to do when the cursor moves: at(i) by itself, move(i) by a finger. With
  // rounds, the points are marked and connected, and t counts rounds instead of seconds.
  const panel = (area, p, t, o) => {
    // A legend's entry is a button. Several change at once when Ctrl shows one line alone.
    const entries = u => [...u.root.querySelectorAll('.u-series:not(:first-child) th')];
    const pressed = u => entries(u).forEach((th, i) => {
      const key = p.title + '/' + p.lines[i].label, on = u.series[i + 1].show;
      on ? o.hidden.delete(key) : o.hidden.add(key);
      th.setAttribute('aria-pressed', String(on));
    });
    const u = new uPlot({
      width: Math.max(200, Math.floor(area.clientWidth)), height: 164,
      cursor: {y: false, sync: {key: o.rounds ? 'rounds' : 'series', setSeries: false}, drag: {x: !!o.zoom, y: false}},
      legend: {live: true, markers: {fill: (u, i) => color(i - 1), width: 0}},
      scales: {x: {time: false, ...o.x}, y: yScale(p.log, p.log ? o.bound : null)},
      axes: [axis({size: 24, values: (u, s) => s.map(v => o.rounds ? Number.isInteger(v) ? v : '' : v + ' s')}), yAxis(p.log)],
      series: [{label: 's'}, ...p.lines.map((l, i) => ({
        label: l.label, stroke: color(i), width: 1.5, value: (u, v) => figure(v), points: {show: !!o.rounds, size: 5}, spanGaps: !!o.rounds, dash: i > 2 && !o.rounds ? [3, 3] : [],
        show: !o.hidden.has(p.title + '/' + l.label),
      }))],
      hooks: {
        drawClear: [shade(o.bands)], draw: [boundLine(p.log ? o.bound : null)], setSeries: [pressed],
        setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0 && u.cursor.event) o.at(u.cursor.idx); }],
      },
    }, [t, ...p.lines.map(l => l.y)], area);
    // A finger moves the cursor sideways; up and down still scroll the page.
    u.over.addEventListener('touchmove', e => {
      const left = e.touches[0].clientX - u.over.getBoundingClientRect().left;
      o.move(u.posToIdx(Math.max(0, Math.min(u.over.clientWidth, left))));
    }, {passive: true});
    for (const th of entries(u)) {
      th.tabIndex = 0;
      th.setAttribute('role', 'button');
      th.addEventListener('keydown', e => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        th.click();
      });
    }
    pressed(u);
    return u;
  };

  // walk moves the cursor of all panels of a box with the arrow keys. at is its index, below 0 before the first.
  const walk = (box, length, at, move) => box.addEventListener('keydown', e => {
    if (e.target !== box || !length()) return;
    const by = e.shiftKey ? 10 : 1, n = length();
    const to = {ArrowRight: at() + by, ArrowLeft: (at() < 0 ? n : at()) - by, Home: 0, End: n - 1}[e.key];
    if (to == null) return;
    e.preventDefault();
    move(Math.max(0, Math.min(n - 1, to)));
  });

  return {css, color, make, figure, round, axis, yScale, yAxis, boundLine, panelsOf, room, panel, walk};
})();

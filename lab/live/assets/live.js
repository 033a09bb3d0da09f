// Draws the run in progress. Its data arrives as events from the page's own server.
(() => {
  'use strict';
  const $ = id => document.getElementById(id);
  const box = $('panels'), at = $('at'), now = $('now'), which = $('which'), empty = $('empty'), rows = $('rows');
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = i => css('--c' + i % 8);
  const make = (tag, props, ...children) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...children);
    return e;
  };
  const figure = v => v == null ? '–' : v === 0 ? '0' : Number(v.toPrecision(3)).toLocaleString('en-US');
  const short = v => v == null ? '' : Math.abs(v) >= 1e6 ? figure(v / 1e6) + 'M' : Math.abs(v) >= 1e4 ? figure(v / 1e3) + 'k' : figure(v);

  // Five minutes of windows: what is older is in the report later.
  const most = 3000;

  // The run's series by column; null marks missing values.
  let t, phase, series, gauges, bound;
  const forget = () => { t = []; phase = []; series = {}; gauges = {}; };
  forget();
  const extend = (columns, more, n) => {
    for (const key in more) columns[key] ??= Array(t.length).fill(null);
    for (const key in columns) columns[key].push(...(more[key] || Array(n).fill(null)));
  };
  const append = p => {
    extend(series, p.series, p.t.length);
    extend(gauges, p.gauges, p.t.length);
    t.push(...p.t);
    phase.push(...p.phase);
    const over = t.length - most;
    if (over > 0) for (const column of [t, phase, ...Object.values(series), ...Object.values(gauges)]) column.splice(0, over);
  };

  // A line that has shown nothing but zeros is not drawn, nor is a panel without lines.
  const panels = () => {
    const out = [], shows = y => y && y.some(v => v);
    for (const k of panelKinds) {
      const lines = Object.entries(k.lines).filter(([key]) => shows(series[key])).map(([key, label]) => ({label, y: series[key]}));
      if (lines.length) out.push({...k, lines});
    }
    for (const name of Object.keys(gauges).sort()) if (shows(gauges[name])) out.push({title: name, unit: 'gauge', lines: [{label: 'value', y: gauges[name]}]});
    return out;
  };

  const shade = u => {
    const {ctx, bbox: b} = u;
    ctx.save();
    ctx.beginPath(); ctx.rect(b.left, b.top, b.width, b.height); ctx.clip();
    for (let i = 0; i < t.length; i++) {
      if (phase[i] === 'measure') continue;
      let j = i;
      while (j + 1 < t.length && phase[j + 1] === phase[i]) j++;
      const from = u.valToPos(t[i], 'x', true), to = u.valToPos(t[j] + .1, 'x', true);
      ctx.fillStyle = css('--band-' + phase[i]) || css('--band-drain');
      ctx.fillRect(from, b.top, to - from, b.height);
      i = j;
    }
    ctx.restore();
  };
  const boundLine = u => {
    if (bound == null) return;
    const y = u.valToPos(bound, 'y', true), {ctx, bbox: b} = u, px = devicePixelRatio;
    if (y < b.top || y > b.top + b.height) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css('--bad');
    ctx.lineWidth = px;
    ctx.setLineDash([6 * px, 4 * px]);
    ctx.beginPath(); ctx.moveTo(b.left, y); ctx.lineTo(b.left + b.width, y); ctx.stroke();
    ctx.font = 11 * px + 'px system-ui, sans-serif';
    ctx.textAlign = 'left'; ctx.textBaseline = 'bottom';
    ctx.fillText('SLO ' + figure(bound) + ' ms', b.left + 4 * px, y - 2 * px);
    ctx.restore();
  };
  const logRange = (u, lo, hi) => {
    if (lo == null) return [1, 10];
    if (bound != null) { lo = Math.min(lo, bound); hi = Math.max(hi, bound); }
    return [lo / 1.25, hi * 1.25];
  };
  const logSplits = (u, i, lo, hi) => {
    const steps = hi / lo > 300 ? [1] : [1, 2, 5], out = [];
    for (let e = Math.floor(Math.log10(lo)); e <= Math.log10(hi); e++)
      for (const s of steps) {
        const v = Number((s * 10 ** e).toPrecision(1));
        if (v >= lo && v <= hi) out.push(v);
      }
    return out;
  };

  let charts = [], drawn = '', index = -1;
  const hidden = new Set(); // lines that the user has hidden, by panel and label
  const axis = more => ({
    stroke: css('--dim'), font: '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif', ticks: {show: false},
    grid: {stroke: css('--rule'), width: 1}, values: (u, s) => s.map(short), ...more,
  });
  const chart = (place, p) => {
    const u = new uPlot({
      width: Math.max(200, Math.floor(place.clientWidth)), height: 164,
      cursor: {y: false, sync: {key: 'now', setSeries: false}, drag: {x: false, y: false}},
      legend: {live: true, markers: {fill: (u, i) => color(i - 1), width: 0}},
      scales: {x: {time: false, range: (u, lo, hi) => [lo ?? 0, Math.max(hi ?? 0, (lo ?? 0) + 5)]},
        y: p.log ? {distr: 3, range: logRange} : {range: (u, lo, hi) => hi == null || hi <= 0 ? [0, 1] : [Math.min(0, lo), hi * 1.08]}},
      axes: [axis({size: 24, values: (u, s) => s.map(v => v + ' s')}),
        axis({size: 48, ...(p.log ? {splits: logSplits, filter: (u, s) => s} : {})})],
      series: [{label: 's'}, ...p.lines.map((l, i) => ({
        label: l.label, stroke: color(i), width: 1.5, value: (u, v) => figure(v), points: {show: false}, dash: i > 2 ? [3, 3] : [],
        show: !hidden.has(p.title + '/' + l.label),
      }))],
      hooks: {drawClear: [shade], draw: p.log ? [boundLine] : [],
        setCursor: [u => { if (u.cursor.idx != null && u.cursor.left >= 0 && u.cursor.event) showPoint(index = u.cursor.idx); }]},
    }, [t, ...p.lines.map(l => l.y)], place);
    u.over.addEventListener('touchmove', e => {
      const left = e.touches[0].clientX - u.over.getBoundingClientRect().left;
      move(u.posToIdx(Math.max(0, Math.min(u.over.clientWidth, left))));
    }, {passive: true});
    // A legend's entry is a button.
    u.root.querySelectorAll('.u-series:not(:first-child) th').forEach((th, i) => {
      const key = p.title + '/' + p.lines[i].label;
      const pressed = () => th.setAttribute('aria-pressed', String(!hidden.has(key)));
      th.tabIndex = 0;
      th.setAttribute('role', 'button');
      th.addEventListener('click', () => { hidden.delete(key) || hidden.add(key); pressed(); });
      th.addEventListener('keydown', e => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        th.click();
      });
      pressed();
    });
    return u;
  };
  const showPoint = i => {
    if (t[i] == null) return;
    at.textContent = 'at ' + t[i].toFixed(1) + ' s' + (phase[i] === 'measure' ? '' : ' (' + phase[i] + ')');
  };
  const move = i => {
    index = Math.max(0, Math.min(t.length - 1, i));
    for (const u of charts) u.setCursor({left: u.valToPos(t[index], 'x'), top: 10}, false);
    showPoint(index);
  };
  const clear = () => {
    for (const u of charts) u.destroy();
    charts = [];
    box.replaceChildren();
  };
  // draw gives the charts their new points, or makes them anew when other lines have something to show.
  const draw = anew => {
    const want = panels(), shape = JSON.stringify(want.map(p => [p.title, p.lines.map(l => l.label)]));
    empty.hidden = want.length > 0;
    if (!anew && shape === drawn) {
      charts.forEach((u, i) => u.setData([t, ...want[i].lines.map(l => l.y)]));
    } else {
      drawn = shape;
      clear();
      charts = want.map(p => {
        const area = make('div', {className: 'plotarea'});
        box.append(make('div', {className: 'panel'}, make('h4', {}, p.title, make('span', {textContent: p.unit ? ' ' + p.unit : ''})), area));
        return chart(area, p);
      });
    }
    if (!t.length || box.matches(':hover, :focus')) return; // the user reads another point
    for (const u of charts) u.setLegend({idx: t.length - 1}, false);
    at.textContent = t[t.length - 1].toFixed(1) + ' s, ' + phase[phase.length - 1];
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(false); });
  };
  new ResizeObserver(() => {
    for (const u of charts) {
      const width = Math.floor(u.root.parentNode.clientWidth);
      if (width > 0 && Math.abs(u.width - width) > 1) u.setSize({width, height: u.height});
    }
  }).observe(box);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(true));
  box.addEventListener('keydown', e => {
    if (e.target !== box || !t.length) return;
    const by = e.shiftKey ? 10 : 1, n = t.length;
    const to = {ArrowRight: index + by, ArrowLeft: (index < 0 ? n : index) - by, Home: 0, End: n - 1}[e.key];
    if (to == null) return;
    e.preventDefault();
    move(to);
  });

  // What is left of the budget.
  let ends = null;
  const tick = () => {
    const s = ends == null ? null : Math.max(0, Math.round((ends - Date.now()) / 1000));
    $('left').textContent = s == null ? '' : s === 0 ? 'ending' : 'at most ' + Math.floor(s / 60) + ':' + String(s % 60).padStart(2, '0') + ' left';
  };
  setInterval(tick, 1000);

  // The stream. A hidden page closes it, and continues later from the same position.
  const patience = 5000; // ms before a stream that was refused is asked for again
  let source, last = '', retry, words = '';
  const listen = (kind, handle) => source.addEventListener(kind, e => {
    last = e.lastEventId;
    handle(JSON.parse(e.data));
  });
  const connect = () => {
    clearTimeout(retry);
    if (source || document.hidden) return;
    source = new EventSource('events' + (last ? '?after=' + encodeURIComponent(last) : ''));
    source.onopen = () => { now.textContent = words || 'connected'; };
    source.onerror = () => {
      now.textContent = 'Connection lost; trying again';
      if (source.readyState !== EventSource.CLOSED) return; // the browser reconnects on its own
      source = null;
      retry = setTimeout(connect, patience);
    };
    listen('run', news => {
      words = now.textContent = news.words;
      empty.textContent = news.id ? 'Waiting for the first window' : 'Between two runs';
      if (!news.id) { // the last run's series stay until there are others
        if (t.length) which.textContent += ', ended';
        return;
      }
      forget();
      $('series').hidden = false;
      index = -1;
      bound = news.slo_ms;
      which.textContent = news.id;
      at.textContent = '\u00a0';
      soon();
    });
    listen('points', p => { append(p); soon(); });
    listen('turns', news => {
      $('turns').hidden = false;
      $('turns-words').textContent = news.words;
      $('turn-rows').innerHTML = news.rows;
      $('series').hidden = !t.length; // slices have no series
      $('runs').hidden = !rows.childElementCount;
      ends = news.left_s == null ? null : Date.now() + news.left_s * 1000;
      tick();
    });
    listen('row', html => {
      rows.insertAdjacentHTML('afterbegin', html);
      $('runs').hidden = false;
    });
    listen('end', () => { source.close(); location.reload(); });
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return connect();
    source?.close();
    source = null;
  });
  draw(true);
  connect();
})();

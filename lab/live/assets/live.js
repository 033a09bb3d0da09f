// Draws the run in progress. Its data arrives as events from the page's own server.
(() => {
  'use strict';
  const $ = id => document.getElementById(id);
  if (!$('panels')) { // between two experiments of a search: the next will come
    const again = () => document.hidden ? setTimeout(again, 3000) : location.reload();
    setTimeout(again, 3000);
    return;
  }
  const box = $('panels'), at = $('at'), now = $('now'), which = $('which'), empty = $('empty'), rows = $('rows');
  const {make, panelsOf, room, panel, walk} = dynoCharts;

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
  const panels = () => panelsOf(series, gauges, y => y && y.some(v => v));

  const bands = () => {
    const out = [];
    for (let i = 0, j; i < t.length; i = j) {
      for (j = i + 1; j < t.length && phase[j] === phase[i];) j++;
      if (phase[i] !== 'measure') out.push({from: t[i], to: t[j - 1] + .1, phase: phase[i]});
    }
    return out;
  };

  let charts = [], drawn = '', index = -1;
  const hidden = new Set(); // lines that the user has hidden, by panel and label
  const chart = (place, p) => panel(place, p, t, {
    bands, bound, hidden, at: i => showPoint(index = i), move,
    x: {range: (u, lo, hi) => [lo ?? 0, Math.max(hi ?? 0, (lo ?? 0) + 5)]},
  });
  const showPoint = i => {
    if (t[i] == null) return;
    at.textContent = 'at ' + t[i].toFixed(1) + ' s' + (phase[i] === 'measure' ? '' : ' (' + phase[i] + ')');
  };
  const move = i => {
    index = i;
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
        box.append(room(p, area));
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
  const fit = new ResizeObserver(() => {
    for (const u of [...charts, ...rounds]) {
      const width = Math.floor(u.root.parentNode.clientWidth);
      if (width > 0 && Math.abs(u.width - width) > 1) u.setSize({width, height: u.height});
    }
  });
  fit.observe(box);
  fit.observe($('turn-panels'));
  let news; // of the turns
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    draw(true);
    turnShape = '';
    if (news) turns(news);
  });
  walk(box, () => t.length, () => index, move);

  // The turns so far.
  let rounds = [], turnShape = '';
  const turns = news => {
    const shape = JSON.stringify(news.panels.map(p => [p.title, p.lines.map(l => l.label)]));
    // A slice is at the peak or judged by the SLO, so that each line has its own last point.
    const last = u => u.data.map(y => y.findLastIndex(v => v != null));
    const latest = () => { if (!$('turn-panels').matches(':hover')) for (const u of rounds) u.setLegend({idxs: last(u)}, false); };
    if (shape === turnShape) {
      rounds.forEach((u, i) => u.setData([news.rounds, ...news.panels[i].lines.map(l => l.y)]));
      return latest();
    }
    turnShape = shape;
    for (const u of rounds) u.destroy();
    $('turn-panels').replaceChildren();
    rounds = news.panels.map(p => {
      const area = make('div', {className: 'plotarea'});
      $('turn-panels').append(room(p, area));
      return panel(area, p, news.rounds, {rounds: true, bands: () => [], bound: news.slo_ms, hidden, at: () => {}, move: () => {},
        x: {range: (u, lo, hi) => [(lo ?? 1) - .5, Math.max(hi ?? 1, (lo ?? 1) + 4) + .5]}});
    });
    requestAnimationFrame(latest);
  };

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
    source = new EventSource($('main').dataset.of + 'events' + (last ? '?after=' + encodeURIComponent(last) : ''));
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
    listen('turns', more => {
      news = more;
      $('turns').hidden = false;
      $('turns-words').textContent = news.words;
      $('turn-rows').innerHTML = news.rows;
      turns(news);
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
  $('runs').hidden = !rows.childElementCount;
  draw(true);
  connect();
})();

// A page of figures, as the service has listed them in board.
const duration = s => s === 0 ? '0 s' : s < 1 ? +(1000 * s).toPrecision(3) + ' ms' : age(s);
const plain = v => Math.abs(v) >= 100 || Number.isInteger(v) ? count(Math.round(v)) : String(+v.toPrecision(3));
const units = {
  '': [plain, roundNumber], seconds: [duration, v => v > 1 ? roundTime(v) : roundNumber(1000 * v) / 1000],
  milliseconds: [v => duration(v / 1000), roundNumber],
  bytes: [bytes, roundNumber], share: [v => +(100 * v).toFixed(1) + '%', v => Math.max(v, 1)],
};

const wordsOf = f => {
  const [words] = units[f.unit ?? ''];
  return f.kind === 'rate' ? (f.unit ? v => words(v) + '/s' : rate) : words;
};

// valueOf is a figure between two answers; null: it cannot be known.
const valueOf = (f, now, then, seconds, wanted = {}) => {
  wanted = {...f.labels, ...wanted};
  switch (f.kind) {
    case 'now': return sum(now, f.metric, wanted);
    case 'rate': {
      const n = more(now, then, f.metric, wanted);
      return n === null ? null : n / seconds;
    }
    case 'share': {
      const of = more(now, then, f.of, wanted), n = more(now, then, f.metric, wanted);
      return of > 0 ? (n ?? 0) / of : null;
    }
    case 'mean': {
      const n = more(now, then, f.metric + '_count', wanted);
      return n > 0 ? more(now, then, f.metric + '_sum', wanted) / n : null;
    }
    default: return quantile(now, then, f.metric, wanted, f.kind === 'p50' ? .5 : .99);
  }
};

const cards = board.figures.map((f, i) => {
  const chart = new Chart('c' + (1 + i % 6), f.title, wordsOf(f), units[f.unit ?? ''][1]);
  say(chart.note, f.note ?? '');
  chart.note.title = f.note ?? '';
  at('figures').append(chart.card);
  return {f, chart};
});

remember(cards.map(c => c.chart));

const tables = (board.tables ?? []).map((table, i) => {
  const body = el('tbody'), none = el('p', {class: 'card empty', hidden: ''}, table.none);
  const box = el('div', {class: 'card scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'table-' + i, hidden: ''},
    el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, table.row), ...table.columns.map(c => el('th', {class: 'n'}, c.title)))), body));
  at('tables').append(el('section', {}, el('div', {class: 'head'}, el('h2', {id: 'table-' + i}, table.title)), box, none));
  const rows = keyed(body, item => {
    const row = el('tr', {}, el('th', {scope: 'row'}, el('code', {}, item.id)));
    row.cells_ = table.columns.map(() => el('td', {class: 'n'}));
    row.append(...row.cells_);
    return row;
  }, (row, item) => table.columns.forEach((c, n) => say(row.cells_[n], item.values[n] === null ? '–' : wordsOf(c)(item.values[n]))));
  return (now, then, seconds) => {
    const names = new Set(table.columns.flatMap(c => [...series(now, c.metric), ...series(now, c.metric + '_count')]).map(s => s.labels[table.label]));
    names.delete(undefined);
    rows([...names].sort().map(id => ({id, values: table.columns.map(c => valueOf(c, now, then, seconds, {[table.label]: id}))})));
    show(box, names.size > 0);
    show(none, names.size === 0);
  };
});

// Rates are of the last second or so; quantiles and shares of the last ten, which have more to say.
const kept = [];
const long = 10;

live(board.name, async () => {
  const [text, readiness] = await Promise.all([ask('/metrics').then(r => r.text()), fetch('/readyz', {cache: 'no-store'}).then(r => r.text())]);
  const now = parseMetrics(text), t = performance.now() / 1000, last = kept.at(-1);
  const began = sum(now, 'process_start_time_seconds');
  if (last && began !== last.began) kept.length = 0; // another process
  kept.push({now, t, began});
  while (kept.length > 2 && t - kept[1].t >= long) kept.shift();
  const state = readiness.trim();
  say(at('state'), state);
  at('state').className = 'chip ' + (state === 'ready' ? 'ok' : 'failing');
  if (kept.length > 1) {
    const [first, second] = [kept[0], kept.at(-2)];
    for (const {f, chart} of cards) {
      const then = f.kind === 'rate' ? second : first;
      chart.add(t, t - second.t > long ? null : valueOf(f, now, then.now, t - then.t));
    }
    for (const update of tables) update(now, first.now, t - first.t);
    say(at('facts'), facts(now, first.now, t - first.t, began).join(' · '));
  }
  return state === 'ready' ? '' : state.slice(0, 30);
});

const facts = (now, then, seconds, began) => {
  const cores = more(now, then, 'process_cpu_seconds_total'), resident = sum(now, 'process_resident_memory_bytes');
  const lines = ['up ' + age(Date.now() / 1000 - began)];
  if (cores !== null) lines.push((cores / seconds).toFixed(2) + ' cores');
  if (resident !== null) lines.push(bytes(resident));
  return [...lines, plural(sum(now, 'go_goroutines') ?? 0, 'goroutine')];
};

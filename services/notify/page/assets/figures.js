// The row of figures: what goes on per second, and what waits.
const flows = {
  accepted: new Chart('accepted', 'Accepted', rate),
  delivered: new Chart('delivered', 'Delivered', rate),
  retried: new Chart('retried', 'Retried', rate),
  dead: new Chart('dead', 'Dead', rate),
};
const pending = new Chart('pending', 'Pending', n => count(Math.round(n)));
const oldest = new Chart('oldest', 'Oldest pending', age, roundTime);
at('figures').append(...charts.map(c => c.card));
remember(charts);

let before = null; // the last answer that counted, and when it came

const showFigures = (stats, t) => {
  const seconds = before ? t - before.t : 0;
  for (const [name, chart] of Object.entries(flows)) {
    const more = before ? stats[name] - before.stats[name] : 0;
    // A count that falls is another process's, or a dead letter that was replayed; after a long silence a
    // rate would be a mean over all of it.
    if (before) chart.add(t, seconds > 10 ? null : Math.max(more, 0) / seconds);
    say(chart.note, count(stats[name]) + ' in all');
  }
  pending.add(t, stats.pending);
  say(pending.note, stats.backlog ? count(stats.backlog) + ' on disk only' : 'all in memory');
  oldest.add(t, stats.oldest_age_seconds);
  const worst = stats.subscriptions.find(s => s.oldest_age_seconds === stats.oldest_age_seconds); // unless something else is looked for
  say(oldest.note, !stats.pending ? 'nothing waits' : worst ? 'at ' + worst.id : 'of all subscriptions');
  oldest.note.title = oldest.note.textContent;
  before = {stats, t};
  showMachinery(stats);
};

const showMachinery = stats => {
  const facts = [];
  if (stats.log) facts.push('log ' + stats.log);
  if (stats.log_bytes !== undefined) facts.push(bytes(stats.log_bytes));
  if (stats.log_last_seq !== undefined) facts.push('notices ' + count(stats.log_first_seq ?? 1) + ' to ' + count(stats.log_last_seq));
  else if (stats.seq !== undefined) facts.push('last notice ' + count(stats.seq));
  if (stats.lost) facts.push('deliveries lost since the log is damaged: ' + count(stats.lost));
  const handed = Object.entries(stats.handed_over ?? {});
  if (handed.length) facts.push('connections handed over to net/http: ' + handed.map(([reason, n]) => reason + ' ' + count(n)).join(', '));
  say(at('facts'), facts.join(' · '));

  show(at('workers'), stats.workers !== undefined);
  if (stats.workers !== undefined) {
    const busy = stats.busy_workers ?? 0;
    say(at('workers-now'), count(busy) + ' of ' + plural(stats.workers, 'worker') + ' busy');
    at('busy').style.width = Math.min(100 * busy / Math.max(stats.workers, 1), 100) + '%';
    const field = at('workers-wanted');
    if (document.activeElement !== field && !field.dataset.typed) field.value = stats.workers;
  }
};

at('workers-wanted').addEventListener('input', e => { e.target.dataset.typed = 'yes'; });
at('workers').addEventListener('submit', async e => {
  e.preventDefault();
  const field = at('workers-wanted'), workers = field.valueAsNumber;
  try {
    await ask('workers', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({workers})});
    at('workers-said').className = '';
    say(at('workers-said'), 'set to ' + count(workers));
    delete field.dataset.typed;
  } catch (err) {
    at('workers-said').className = 'bad';
    say(at('workers-said'), err.message);
  }
});

// The queues by age. The server is asked for the `asked` oldest, of which at most `most` are drawn, so that
// the page stays quick whatever there is.
const most = 200, asked = 1000;
const states = ['all', 'failing', 'throttled', 'disabled', 'ok'];
let known = null; // the last answer's subscriptions

const stateOf = s => states.includes(s.state) ? s.state : 'ok';

for (const name of states) {
  const radio = el('input', {type: 'radio', name: 'state', value: name, id: 'state-' + name, onchange: () => showSubscriptions()});
  radio.checked = name === 'all';
  at('states').append(radio, el('label', {for: 'state-' + name}, name + ' ', el('span', {class: 'dim', id: 'count-' + name})));
}
at('search').addEventListener('input', () => showSubscriptions());

const cell = (row, name, ...children) => {
  const td = el('td', name ? {class: name} : {}, ...children);
  row.append(td);
  return td;
};

const makeSubscription = s => {
  const row = el('tr'), part = row.part_ = {};
  part.id = el('code');
  part.url = el('small');
  row.append(el('th', {scope: 'row'}, part.id, part.url));
  part.state = el('span', {class: 'chip'});
  cell(row, '', part.state);
  part.bar = el('i');
  part.age = el('span');
  cell(row, 'age', el('span', {class: 'bar', 'aria-hidden': 'true'}, part.bar), part.age);
  part.pending = el('span');
  part.backlog = el('small');
  cell(row, 'n', part.pending, part.backlog);
  part.flying = cell(row, 'n');
  part.delivered = el('span');
  part.retried = el('small');
  cell(row, 'n', part.delivered, part.retried);
  part.status = el('span');
  part.error = el('small', {class: 'error'});
  cell(row, 'answer', part.status, part.error);
  part.dead = el('button', {class: 'link', onclick: () => lettersOf(s.id)});
  part.none = el('span', {class: 'dim'}, '0');
  cell(row, 'n', part.dead, part.none);
  return row;
};

const updateSubscription = (row, s, top) => {
  const part = row.part_, state = stateOf(s);
  say(part.id, s.id);
  say(part.url, s.url ?? '');
  say(part.state, s.state ?? 'ok');
  part.state.className = 'chip ' + state;
  row.dataset.state = state;
  part.bar.style.width = (top > 0 ? 100 * Math.min(s.oldest_age_seconds / top, 1) : 0) + '%';
  say(part.age, s.pending ? age(s.oldest_age_seconds) : '–');
  say(part.pending, count(s.pending));
  say(part.backlog, s.backlog ? count(s.backlog) + ' on disk' : '');
  say(part.flying, count(s.in_flight ?? 0));
  say(part.delivered, count(s.delivered));
  say(part.retried, s.retried ? count(s.retried) + ' retried' : '');
  say(part.status, s.last_status || (s.last_error ? 'no answer' : '–'));
  say(part.error, s.last_error ?? '');
  part.error.title = s.last_error ?? '';
  const dead = s.dead_letters ?? 0;
  show(part.dead, dead > 0);
  show(part.none, !dead);
  say(part.dead, count(dead));
  part.dead.setAttribute('aria-label', plural(dead, 'dead letter') + ' of ' + s.id);
};

let topAge = 0; // of the subscriptions, in seconds: the longest bar
const drawSubscriptions = keyed(document.querySelector('#queues tbody'), makeSubscription, (row, s) => updateSubscription(row, s, topAge));

const showSubscriptions = (list = known) => {
  if (!list) return;
  known = list;
  const tally = Object.fromEntries(states.map(s => [s, 0]));
  for (const s of list) tally[stateOf(s)]++;
  tally.all = list.length;
  states.forEach(s => say(at('count-' + s), count(tally[s])));

  const state = document.querySelector('#states input:checked').value, text = at('search').value.trim().toLowerCase();
  const fit = list.filter(s => (state === 'all' || stateOf(s) === state) &&
    (!text || s.id.toLowerCase().includes(text) || (s.url ?? '').toLowerCase().includes(text)));
  fit.sort((a, b) => b.oldest_age_seconds - a.oldest_age_seconds || (a.id < b.id ? -1 : 1));
  topAge = list.reduce((n, s) => Math.max(n, s.oldest_age_seconds), 0);
  drawSubscriptions(fit.slice(0, most));

  show(at('queues'), fit.length > 0);
  const rest = [];
  if (fit.length > most) rest.push('and ' + count(fit.length - most) + ' more, whose oldest notice is younger');
  if (list.length >= asked) rest.push('of all subscriptions the server sends the ' + count(asked) + ' oldest queues; the others are not looked through here');
  say(at('queues-more'), rest.join('; '));
  show(at('queues-more'), rest.length > 0);
  showNoSubscription(list.length, fit.length);
};

// command is a line for a shell, on the address that the page came from: it needs no API key.
const command = (path, body) => el('pre', {tabindex: 0}, `curl ${new URL(path, location.href)} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`);

const showNoSubscription = (all, fit) => {
  const box = at('queues-none');
  show(box, fit === 0);
  const why = all ? 'filtered' : 'none';
  if (fit || box.dataset.why === why) return;
  box.dataset.why = why;
  if (all) box.replaceChildren(el('p', {}, 'No subscription is like that.'));
  else box.replaceChildren(el('p', {}, 'Nobody has subscribed. Tell notifyd where webhooks should go; the answer holds the secret that signs them:'),
    command('v1/subscriptions', '{"url":"https://example.com/hook","types":["order.*"]}'), el('p', {}, 'Then hand in a notice:'),
    command('v1/notices', '{"key":"order-7","type":"order.paid","payload":{"total":12}}'));
};

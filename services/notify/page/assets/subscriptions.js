// The queues by age, a page of them at a time. The server looks through all of them.
const most = 200; // on a page, so that it stays quick whatever there is
const states = ['all', 'failing', 'throttled', 'disabled', 'ok'];
const finding = {text: '', state: 'all', offset: 0, turn: 0};

const stateOf = s => states.includes(s.state) ? s.state : 'ok';

const find = change => {
  Object.assign(finding, {offset: 0}, change, {turn: finding.turn + 1});
  look();
};

const question = () => {
  const query = new URLSearchParams({limit: most});
  if (finding.text) query.set('q', finding.text);
  if (finding.state !== 'all') query.set('state', finding.state);
  if (finding.offset) query.set('offset', finding.offset);
  return 'v1/stats?' + query;
};

for (const name of states) {
  const radio = el('input', {type: 'radio', name: 'state', value: name, id: 'state-' + name, onchange: () => find({state: name})});
  radio.checked = name === 'all';
  at('states').append(radio, el('label', {for: 'state-' + name}, name + ' ', el('span', {class: 'dim', id: 'count-' + name})));
}
at('search').addEventListener('input', e => find({text: e.target.value.trim()}));
at('queues-before').addEventListener('click', () => find({offset: Math.max(finding.offset - most, 0)}));
at('queues-next').addEventListener('click', () => find({offset: finding.offset + most}));

// test sends a receiver a notice that is marked as a test, and says what it answered.
const test = async (button, id) => {
  const said = (text, bad = false) => {
    at('tested').className = bad ? 'said bad' : 'said';
    say(at('tested'), text);
  };
  button.disabled = true;
  said(`Sending ${id} a test notice …`);
  try {
    const answer = await (await ask(`v1/subscriptions/${encodeURIComponent(id)}/test`, {method: 'POST', signal: AbortSignal.timeout(330_000)})).json(); // longer than the longest attempt
    const took = ` after ${count(Math.round(answer.seconds * 1000))} ms`;
    said(answer.error ? `${id}: the test notice failed${took}: ${answer.error}.` : `${id} took the test notice ${answer.id}: answered ${answer.status}${took}.`, !!answer.error);
  } catch (err) { said(`${id} could not be sent a test notice: ${err.message}`, true); }
  button.disabled = false;
};

// waits says what a retry waits for.
const waits = s => {
  const parts = [];
  if (s.retrying) parts.push(`${plural(s.retrying, 'key')} to retry, ${plural(s.tried, 'attempt')} so far`);
  if (s.next_attempt) parts.push('next in ' + age((Date.parse(s.next_attempt) - Date.now()) / 1000));
  return parts.join('; ');
};

const cell = (row, name, ...children) => {
  const td = el('td', name ? {class: name} : {}, ...children);
  row.append(td);
  return td;
};

const makeSubscription = s => {
  const row = el('tr'), part = row.part_ = {};
  part.id = el('code');
  part.url = el('small');
  part.types = el('small');
  row.append(el('th', {scope: 'row'}, part.id, part.url, part.types));
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
  part.waits = el('small', {class: 'waits'});
  cell(row, 'answer', part.status, part.error, part.waits);
  part.dead = el('button', {class: 'link', onclick: () => lettersOf(s.id)});
  part.none = el('span', {class: 'dim'}, '0');
  cell(row, 'n', part.dead, part.none);
  part.test = el('button', {'aria-label': 'Send a test notice to ' + s.id, title: 'send this receiver a notice that is marked as a test', onclick: () => test(part.test, s.id)}, 'Test');
  cell(row, 'actions', part.test);
  return row;
};

const updateSubscription = (row, s, top) => {
  const part = row.part_, state = stateOf(s);
  say(part.id, s.id);
  say(part.url, s.url ?? '');
  say(part.types, (s.types ?? []).join(' '));
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
  say(part.waits, waits(s));
  part.waits.title = s.next_attempt ?? '';
  const dead = s.dead_letters ?? 0;
  show(part.dead, dead > 0);
  show(part.none, !dead);
  say(part.dead, count(dead));
  part.dead.setAttribute('aria-label', plural(dead, 'dead letter') + ' of ' + s.id);
};

let topAge = 0; // of the subscriptions, in seconds: the longest bar
const drawSubscriptions = keyed(document.querySelector('#queues tbody'), makeSubscription, (row, s) => updateSubscription(row, s, topAge));

const showSubscriptions = stats => {
  const list = stats.subscriptions, all = Object.values(stats.states).reduce((n, m) => n + m, 0), {offset} = finding;
  states.forEach(s => say(at('count-' + s), count(s === 'all' ? all : stats.states[s] ?? 0)));
  if (!list.length && offset) return find({offset: 0}); // there were more before
  if (!offset) topAge = list.reduce((n, s) => Math.max(n, s.oldest_age_seconds), 0);
  drawSubscriptions(list);
  show(at('queues'), list.length > 0);
  show(at('queues-pages'), offset > 0 || stats.matching > list.length);
  say(at('queues-more'), `${count(offset + 1)} to ${count(offset + list.length)} of ${count(stats.matching)}`);
  show(at('queues-before'), offset > 0);
  show(at('queues-next'), offset + list.length < stats.matching);
  showNoSubscription(all, list.length);
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

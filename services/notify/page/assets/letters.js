// Dead letters, a page of them at a time: of all subscriptions or of one.
const listing = {of: '', after: '', turn: 0, letters: [], next: ''};

const tell = (text, bad = false) => {
  at('said').className = bad ? 'said bad' : 'said';
  say(at('said'), text);
};

const refreshLetters = async () => {
  const turn = listing.turn, query = new URLSearchParams({limit: 100});
  if (listing.of) query.set('subscription', listing.of);
  if (listing.after) query.set('after', listing.after);
  const answer = await (await ask('v1/dead?' + query)).json();
  if (turn !== listing.turn) return; // something else has been asked for meanwhile
  listing.letters = answer.dead ?? [];
  listing.next = answer.next ?? '';
  drawLetters();
};

const turnTo = (of, after) => {
  Object.assign(listing, {of, after, turn: listing.turn + 1});
  return refreshLetters().catch(err => tell(err.message, true));
};

const lettersOf = async id => {
  tell('');
  await turnTo(id, '');
  at('dead-title').scrollIntoView({behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
  at('dead-title').focus({preventScroll: true});
};

// act does something with a letter and shows what came of it before the next question does.
const act = async (l, method) => {
  const path = 'v1/dead/' + encodeURIComponent(l.id);
  await ask(method === 'POST' ? path + '/replay' : path, {method});
  listing.turn++; // an answer under way does not know of this
  if (method === 'POST') l.replaying = true;
  else listing.letters = listing.letters.filter(other => other.id !== l.id);
  const shown = listing.letters.find(other => other.id === l.id);
  if (shown) shown.replaying = l.replaying;
  drawLetters();
};

const replay = async l => {
  try {
    await act(l, 'POST');
    tell(`${l.notice.id} is on its way to ${l.subscription} again.`);
  } catch (err) { tell(`${l.id} could not be replayed: ${err.message}`, true); }
};

const remove = async l => {
  const title = 'Delete this dead letter?';
  if (!await sure(title, `${l.subscription} will never get the notice ${l.notice.id} (${l.notice.type}, key ${l.notice.key}). This cannot be undone.`)) return;
  try {
    await act(l, 'DELETE');
    tell(`${l.id} is deleted.`);
  } catch (err) { tell(`${l.id} could not be deleted: ${err.message}`, true); }
};

// all does one thing to every letter that is listed, one after another: so a key's notices keep their order.
const all = async (method, doing, done) => {
  const letters = listing.letters.filter(l => method === 'DELETE' || !l.replaying), buttons = [at('replay-all'), at('delete-all')];
  let n = 0;
  buttons.forEach(b => { b.disabled = true; });
  try {
    for (const l of letters) {
      if (n % 10 === 0) tell(`${doing} ${count(n + 1)} of ${count(letters.length)} …`);
      await act(l, method);
      n++;
    }
    tell(`${plural(n, 'dead letter')} ${done}.`);
  } catch (err) {
    tell(`${count(n)} of ${plural(letters.length, 'dead letter')} ${done}, then: ${err.message}`, true);
  }
  buttons.forEach(b => { b.disabled = false; });
};

at('replay-all').addEventListener('click', () => all('POST', 'Replaying', 'on the way again'));
at('delete-all').addEventListener('click', async () => {
  const n = listing.letters.length;
  if (await sure(`Delete ${plural(n, 'dead letter')}?`, `${listing.of} will never get these notices. This cannot be undone.`)) all('DELETE', 'Deleting', 'deleted');
});
at('of-all').addEventListener('click', () => lettersOf(''));
at('first').addEventListener('click', () => turnTo(listing.of, ''));
at('next').addEventListener('click', () => turnTo(listing.of, listing.next));

// sure asks before something is lost. The dialog's closing is told later than it happens, when another
// question may stand there already: each answer goes to its own.
let settle = null;
at('sure').addEventListener('close', () => {
  if (at('sure').open) return;
  settle?.(at('sure').returnValue === 'yes');
  settle = null;
});
const sure = (title, text) => new Promise(answer => {
  settle?.(false);
  settle = answer;
  say(at('sure-title'), title);
  say(at('sure-text'), text);
  at('sure').returnValue = 'no';
  at('sure').showModal();
});

const makeLetter = l => {
  const row = el('tr'), part = row.part_ = {};
  part.notice = el('code');
  part.about = el('small');
  row.append(el('th', {scope: 'row'}, part.notice, part.about));
  part.subscription = el('button', {class: 'link', onclick: () => lettersOf(l.subscription), title: 'only those of this subscription'}, el('code', {}, l.subscription));
  cell(row, '', part.subscription);
  part.reason = el('span');
  part.replaying = el('span', {class: 'chip throttled'}, 'replaying');
  cell(row, 'answer', part.replaying, part.reason);
  part.attempts = cell(row, 'n');
  part.died = el('time');
  cell(row, 'n', part.died);
  part.size = cell(row, 'n');
  part.payload = el('button', {'aria-expanded': 'false', onclick: () => togglePayload(row, l)}, 'Payload');
  part.replay = el('button', {onclick: () => replay(l)}, 'Replay');
  part.remove = el('button', {class: 'danger', onclick: () => remove(l)}, 'Delete …');
  for (const name of ['payload', 'replay', 'remove']) part[name].setAttribute('aria-label', part[name].textContent + ' ' + l.id);
  cell(row, 'actions', part.payload, part.replay, part.remove);
  return row;
};

const updateLetter = (row, l) => {
  const part = row.part_;
  say(part.notice, l.notice.id);
  say(part.about, `${l.notice.type} · key ${l.notice.key} · seq ${l.seq}`);
  say(part.reason, l.reason);
  show(part.replaying, !!l.replaying);
  part.replay.disabled = !!l.replaying;
  say(part.attempts, count(l.attempts));
  say(part.died, age((Date.now() - Date.parse(l.died)) / 1000) + ' ago');
  part.died.dateTime = l.died;
  part.died.title = l.died;
  say(part.size, bytes(l.size));
};

// pretty indents JSON and leaves its numbers as they are written, where the browser can.
const pretty = payload => JSON.stringify(payload, null, 2) ?? 'null';
const exact = (_, v, context) => typeof v === 'number' && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : v;

const togglePayload = async (row, l) => {
  const button = row.part_.payload;
  if (row.detail) {
    row.detail.remove();
    delete row.detail;
    button.setAttribute('aria-expanded', 'false');
    return;
  }
  const text = el('pre', {tabindex: 0, 'aria-label': 'payload of ' + l.id}, 'asking …');
  row.detail = el('tr', {class: 'detail'}, el('td', {colspan: 7}, text));
  row.after(row.detail);
  button.setAttribute('aria-expanded', 'true');
  try {
    const letter = JSON.parse(await (await ask('v1/dead/' + encodeURIComponent(l.id))).text(), exact);
    say(text, pretty(letter.notice.payload));
    if (letter.notice.timestamp) text.before(el('p', {class: 'dim'}, 'accepted ' + letter.notice.timestamp));
  } catch (err) {
    text.className = 'bad';
    say(text, err.message);
  }
};

const fillLetters = keyed(document.querySelector('#letters tbody'), makeLetter, updateLetter);

const drawLetters = () => {
  const {letters, of, after, next} = listing;
  fillLetters(letters);
  show(at('letters'), letters.length > 0);
  show(at('of'), of !== '');
  say(at('of-id'), of);
  show(at('replay-all'), letters.length > 0);
  show(at('delete-all'), letters.length > 0);
  show(at('first'), after !== '');
  show(at('next'), next !== '');
  const box = at('letters-none');
  show(box, letters.length === 0);
  say(box, after ? 'No more dead letters on this page.' : of ? 'This subscription has no dead letters.' :
    'No dead letters. A notice comes here for a subscription when all its attempts failed, when the receiver answered 410 Gone, or when it was kept too long. Here it can be looked at, replayed or deleted.');
};

// The lobby: the rooms that there are, and the ways into them.
import { at, make, tell } from './hud.js';

const AGAIN_MS = 2000, NAME_BYTES = 32; // of a name, as the server takes it
const NAME = 'arena.name', TOKEN = 'arena.token'; // in the browser's storages
const says = { // of the codes of the wire: what is wrong, and the way out
  unauthorized: 'This server asks for a token. Enter one below, then play.',
  room_full: 'That room is full. Take another, watch it, or create one.',
  no_such_room: 'That room is no longer there. Take another or create one.',
};

// call asks the API, and throws what is wrong in words. The list needs no token.
async function call(method, body) {
  const token = sessionStorage.getItem(TOKEN), headers = body && { 'Content-Type': 'application/json', ...token && { Authorization: `Bearer ${token}` } };
  const answer = await fetch('/v1/rooms', { method, body, headers }).catch(() => undefined);
  const out = await answer?.json().catch(() => undefined);
  if (!answer || answer.ok && !out) throw new Error('The server does not answer. The page asks again every two seconds.');
  if (answer.status === 401) throw new Error(says.unauthorized, { cause: 'unauthorized' });
  if (!answer.ok) throw new Error(`The server says: ${out?.error ?? answer.statusText}`);
  return out;
}

export class Lobby {
  #enter; #timer;
  // enter(join) is called when the user goes into a room.
  constructor(enter) {
    this.#enter = enter;
    at('name').value = localStorage.getItem(NAME) ?? '';
    at('play').addEventListener('submit', e => { e.preventDefault(); this.#go('', false); });
    at('create').addEventListener('submit', async e => {
      e.preventDefault();
      this.#keepToken();
      try { this.#go((await call('POST', JSON.stringify({ capacity: 50, bots: Number(at('bots').value) }))).id, false); } catch (err) {
        if (err.cause) at('token-row').hidden = false;
        tell(at('trouble'), err.message);
      }
    });
  }

  // open shows the lobby, and why if there is a reason.
  open(code, message) {
    document.body.dataset.view = 'lobby';
    at('token-row').hidden = code !== 'unauthorized' && !sessionStorage.getItem(TOKEN);
    tell(at('trouble'), code ? says[code] ?? `The game has ended: ${message || code}. Play again or take another room.` : '');
    this.#list();
  }

  close() { clearTimeout(this.#timer); }
  // join completes one by what the user has entered before.
  join(j) { return { ...j, token: sessionStorage.getItem(TOKEN) ?? '' }; }

  #keepToken() { if (at('token').value.trim()) sessionStorage.setItem(TOKEN, at('token').value.trim()); }

  #go(room, spectate) {
    let name = at('name').value.trim();
    while (new TextEncoder().encode(name).length > NAME_BYTES) name = name.slice(0, -1);
    localStorage.setItem(NAME, name);
    this.#keepToken();
    this.#enter(this.join({ room, name, spectate }));
  }

  async #list() {
    clearTimeout(this.#timer);
    try {
      if (!document.hidden) this.#show(await call('GET'));
      tell(at('away'), '');
    } catch (err) { tell(at('away'), err.message); }
    if (document.body.dataset.view === 'lobby') this.#timer = setTimeout(() => this.#list(), AGAIN_MS);
  }

  #show(rooms) {
    const focus = document.activeElement.id;
    tell(at('no-rooms'), rooms.length ? '' : 'There is no room yet. Play makes one, and so does Create a room.');
    at('rooms').replaceChildren(...rooms.map(r => {
      const full = r.players >= r.capacity, fill = make('progress', [], { max: r.capacity, value: r.players });
      const button = (text, spectate) => make('button', text, { id: `${text} ${r.id}`, ariaLabel: `${text} ${r.id}`, disabled: text === 'Full', onclick: () => this.#go(r.id, spectate) });
      const text = make('span', [make('code', r.id), ` · ${r.players} of ${r.capacity} playing${r.spectators ? `, ${r.spectators} watching` : ''}`]);
      return make('li', [make('div', [text, fill], { className: 'about' }), button('Watch', true), button(full ? 'Full' : 'Join', false)]);
    }));
    at(focus)?.focus(); // it was made anew
  }
}

// The lobby: the rooms that there are, and the ways into them.
import { at, make } from './hud.js';

const AGAIN_MS = 2000, NAME_BYTES = 32; // of a name, as the server takes it
const NAME = 'arena.name', TOKEN = 'arena.token';

const says = { // of the codes of the wire: what is wrong, and the way out
  unauthorized: 'This server asks for a token. Enter one below, then play.',
  room_full: 'That room is full. Take another, watch it, or create one.',
  no_such_room: 'That room is no longer there. Take another or create one.',
  flood: 'The server ended the game because this page sent too much. Play again; if it stays so, reload the page.',
};

// call asks the API, and throws what is wrong in words.
async function call(method, body) {
  let answer, out = {};
  try {
    answer = await fetch('/v1/rooms', { method, body: body && JSON.stringify(body), headers: body && { 'Content-Type': 'application/json' } });
    out = await answer.json();
  } catch { if (!answer || answer.ok) throw new Error('The server does not answer. The page asks again every two seconds.'); }
  if (!answer.ok) throw new Error(`The server says: ${out.error ?? answer.statusText}`);
  return out;
}

export class Lobby {
  #enter; #timer; #away = false;

  // enter(join) is called when the user goes into a room.
  constructor(enter) {
    this.#enter = enter;
    at('name').value = localStorage.getItem(NAME) ?? '';
    at('play').addEventListener('submit', e => { e.preventDefault(); this.#go('', false); });
    at('create').addEventListener('submit', async e => {
      e.preventDefault();
      const bots = Number(at('bots').value);
      try { this.#go((await call('POST', { capacity: 50, bots, seed: Math.floor(Math.random() * 2 ** 32), record: false })).id, false); } catch (err) { this.#trouble(err.message); }
    });
  }

  // open shows the lobby, and why if there is a reason.
  open(code, message) {
    document.body.dataset.view = 'lobby';
    at('token-row').hidden = code !== 'unauthorized' && !sessionStorage.getItem(TOKEN);
    this.#trouble(code ? says[code] ?? `The game has ended: ${message || code}. Play again or take another room.` : '');
    this.#away = false;
    this.#list();
  }

  close() { clearTimeout(this.#timer); }

  // join completes one by what the user has entered before.
  join(j) { return { ...j, token: sessionStorage.getItem(TOKEN) ?? '' }; }

  #go(room, spectate) {
    let name = at('name').value.trim();
    while (new TextEncoder().encode(name).length > NAME_BYTES) name = name.slice(0, -1);
    localStorage.setItem(NAME, name);
    if (at('token').value.trim()) sessionStorage.setItem(TOKEN, at('token').value.trim());
    this.#enter(this.join({ room, name, spectate }));
  }

  #trouble(text) {
    at('trouble').textContent = text;
    at('trouble').hidden = !text;
  }

  async #list() {
    clearTimeout(this.#timer);
    try {
      if (!document.hidden) this.#show(await call('GET'));
      if (this.#away) this.#trouble('');
      this.#away = false;
    } catch (err) { this.#away = true; this.#trouble(err.message); }
    if (document.body.dataset.view === 'lobby') this.#timer = setTimeout(() => this.#list(), AGAIN_MS);
  }

  #show(rooms) {
    const focus = document.activeElement?.dataset?.go;
    at('no-rooms').textContent = rooms.length ? '' : 'There is no room yet. Play makes one, and so does Create a room.';
    at('rooms').replaceChildren(...rooms.map(r => {
      const fill = make('i'), full = r.players >= r.capacity, watching = r.spectators ? `, ${r.spectators} watching` : '';
      fill.style.width = `${100 * r.players / r.capacity}%`;
      const about = make('div', [make('span', [make('code', r.id), ` · ${r.players} of ${r.capacity} playing${watching}`]), make('div', fill, { className: 'fill' })], { className: 'about' });
      const button = (text, spectate) => {
        const b = make('button', text, { disabled: full && !spectate, onclick: () => this.#go(r.id, spectate) });
        b.dataset.go = `${text} ${r.id}`;
        b.setAttribute('aria-label', `${text} ${r.id}`);
        return b;
      };
      return make('li', [about, button('Watch', true), button(full ? 'Full' : 'Join', false)]);
    }));
    if (focus) [...document.querySelectorAll('[data-go]')].find(b => b.dataset.go === focus)?.focus();
  }
}

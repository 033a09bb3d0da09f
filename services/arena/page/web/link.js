// The connection to a room: it joins, pings, and comes back after a loss as the same player, by the token of the last Welcome. The
// token is in the tab's sessionStorage, so that a reload comes back as well.
import { read, write, ClientFrame, ServerFrame } from './wire.js';
import { Decoder } from './bits.js';

const BITS = 'arena.v1.bits', PROTO = 'arena.v1.proto'; // the subprotocols, the better first
const KEY = 'arena.resume'; // of sessionStorage
const PING_MS = 500, SILENT_MS = 12000; // without a message: the connection is as good as lost
const AGAIN_MS = [250, 500, 1000, 2000, 4000]; // after one loss, two, ...
const DENIALS = 3; // of a token, as by a server that does not have the room, before this is a new player
const DUPLICATE_MS = 400; // for another tab to say that it plays with this token, on a busy machine as well
const CLOGGED = 64 << 10; // bytes that wait to be sent: more are not worth sending
const kept = () => { try { return JSON.parse(sessionStorage.getItem(KEY)) ?? {}; } catch { return {}; } };
export class Link {
  bytes = 0; // that came, since the page was opened
  #on; #socket; #join; #timer; #losses = 0; #denials = 0; #heard = 0; #welcomed = false; #token = ''; #tabs = new BroadcastChannel('arena');

  // on has a function for each of welcome(w), state(s), event(e), pong(p), lost(ms until the next try), refused(code, message).
  constructor(on) {
    this.#on = on;
    this.#tabs.addEventListener('message', ({ data }) => { if (data.ask && data.ask === this.#token) this.#tabs.postMessage({ taken: data.ask }); });
    setInterval(() => this.#beat(), PING_MS);
  }

  // open joins: {room, name, spectate, token}. A player that this tab lost is taken up again.
  async open(join) {
    this.close();
    this.#join = join;
    const { room, name, token } = kept();
    const mine = !join.spectate && token && name === join.name && (!join.room || join.room === room) && await this.#free(token);
    if (this.#join !== join) return; // it was called again, or closed
    if (mine) [this.#join, this.#token] = [{ ...join, room }, token];
    this.#dial();
  }

  // #free reports that no other tab plays with a token: a tab that is duplicated has a copy of it.
  #free(token) {
    return new Promise(done => {
      this.#tabs.addEventListener('message', ({ data }) => { if (data.taken === token) done(false); });
      this.#tabs.postMessage({ ask: token });
      setTimeout(done, DUPLICATE_MS, true);
    });
  }

  close() {
    this.#hangUp();
    [this.#join, this.#token, this.#losses, this.#denials] = [undefined, '', 0, 0];
  }
  // leave gives the player up.
  leave() { this.send({ leave: {} }); this.#keep(''); this.close(); }
  // send sends nothing before the Welcome: the server takes what comes after a Join as a sign that the new token is kept.
  send(frame) { if (this.#welcomed) this.#write(frame); }
  #write(frame, s = this.#socket) { if (s?.readyState === WebSocket.OPEN && s.bufferedAmount < CLOGGED) s.send(write(frame, ClientFrame)); }

  #keep(token) {
    this.#token = token;
    if (token) sessionStorage.setItem(KEY, JSON.stringify({ room: this.#join.room, name: this.#join.name, token }));
    else sessionStorage.removeItem(KEY);
  }

  #hangUp(s = this.#socket) {
    clearTimeout(this.#timer);
    [this.#socket, this.#welcomed] = [undefined, false]; // what it still has to say is not heard
    s?.close();
  }

  #dial() {
    const s = this.#socket = new WebSocket(location.origin.replace('http', 'ws') + '/ws', [BITS, PROTO]), decoder = new Decoder();
    s.binaryType = 'arraybuffer';
    this.#heard = performance.now();
    s.onopen = () => this.#write({ join: { ...this.#join, resume: this.#token } });
    s.onclose = ({ code, reason }) => { if (s === this.#socket) if (code === 1008) this.#refuse(reason, reason); else this.#lose(); };
    s.onmessage = ({ data }) => {
      if (s !== this.#socket) return;
      const bytes = new Uint8Array(data), bits = s.protocol === BITS;
      let frame;
      [this.#heard, this.bytes] = [performance.now(), this.bytes + bytes.length];
      try {
        frame = bits && bytes[0] === 1 ? { snapshot: decoder.decode(bytes) } : read(bits ? bytes.subarray(1) : bytes, ServerFrame);
      } catch { return this.#lose(); } // a new connection begins with a whole state
      this.#take(frame);
    };
  }

  #take({ welcome, snapshot, event, pong, error }) {
    if (snapshot) [this.#losses, this.#denials] = [0, 0];
    if (welcome) {
      this.#join = { ...this.#join, room: welcome.room };
      if (!this.#join.spectate) this.#keep(welcome.resume);
      this.#welcomed = true;
      this.#beat();
      this.#on.welcome(welcome);
    }
    if (snapshot) this.#on.state(snapshot, this.#heard);
    if (event) this.#on.event(event);
    if (pong) this.#on.pong(pong, this.#heard);
    if (error) this.#refuse(error.code, error.message);
  }

  #refuse(code, message) {
    const join = this.#join, gone = code === 'bad_resume' || code === 'no_such_room', resumed = gone && this.#token;
    if (resumed && ++this.#denials < DENIALS) return this.#lose();
    if (gone) this.#keep('');
    this.close();
    this.#join = join;
    if (resumed) this.#dial(); else this.#on.refused(code, message); // resumed: as a new player
  }

  #lose() {
    const after = AGAIN_MS[Math.min(this.#losses++, AGAIN_MS.length - 1)] * (1 + Math.random() / 4);
    this.#hangUp();
    this.#timer = setTimeout(() => this.#dial(), after);
    this.#on.lost(after);
  }

  #beat() {
    this.send({ ping: { clientMs: Math.round(performance.now()) } });
    if (this.#socket && performance.now() - this.#heard > SILENT_MS) this.#lose();
  }
}

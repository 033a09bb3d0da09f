// The own player, drawn before the server knows: its commands are done here the moment they are made. When a state says how far
// the server is, the page goes back to that state and does the later commands again; what differs fades away.
import { move, MOTION, FIRE, RELOAD, SCALE } from './sim.js';

const MOST = 120; // commands that the server may owe an answer: two seconds. After that the player waits
const FADE_MS = 80, JUMP = 64 * SCALE; // in which a correction shrinks to 1/e; units: what differs by more is not faded
const REPEATED = 2; // older commands in each packet, in case the one before was lost or held up
export class Predictor {
  corrections = 0; hp = 0; score = 0;
  known = false; // a state had the player
  #x = 0; #y = 0; // units, as the server will have it
  #pending = []; // commands that no state acknowledges, MOST at most
  #seq = 0; #sent = 0; #packet = 0; #reload = 0;
  #off = [0, 0]; // from there to where it is drawn
  #part = [0, 0]; // of a command that is not made yet

  // ahead is where the player's commands have it, and drawn where it is drawn: there, and off by what fades.
  get ahead() { return { x: this.#x + this.#part[0], y: this.#y + this.#part[1] }; }
  get drawn() { return { x: this.ahead.x + this.#off[0], y: this.ahead.y + this.#off[1] }; }
  // again is for a new connection: what was not acknowledged is gone.
  again() { [this.#pending, this.known] = [[], false]; }

  // command does a command, unless the server has not answered for too long. It returns true for a shot.
  command(buttons, aim, viewTick) {
    if (this.#pending.length >= MOST) return false;
    this.#pending.push({ seq: ++this.#seq, buttons, aim, viewTick });
    this.#reload = Math.max(0, this.#reload - 1);
    if (this.hp === 0) return false;
    [this.#x, this.#y] = move(this.#x, this.#y, buttons);
    const shot = buttons & FIRE && !this.#reload;
    if (shot) this.#reload = RELOAD;
    return Boolean(shot);
  }

  // packet is what to send when there are two new commands or more, or in any case if the server must hear; else undefined.
  packet(ackTick, must) {
    if (this.#seq - this.#sent < 2 && !must) return undefined;
    const commands = this.#pending.filter(c => c.seq > this.#sent - REPEATED);
    this.#sent = this.#seq;
    return { seq: ++this.#packet, ackTick, commands };
  }

  // reconcile takes the player in a state, and the last command that is done in it.
  reconcile({ x, y, hp, score }, acked) {
    const placed = !this.known || this.hp === 0 && hp > 0, [oldX, oldY] = [this.#x, this.#y];
    if (!this.known) this.#sent = this.#seq = Math.max(this.#seq, acked);
    this.#pending = this.#pending.filter(c => c.seq > acked);
    [this.#x, this.#y, this.hp, this.score, this.known] = [x, y, hp, score, true];
    if (hp > 0) for (const c of this.#pending) [this.#x, this.#y] = move(this.#x, this.#y, c.buttons);
    const off = [oldX - this.#x, oldY - this.#y], away = Math.hypot(...off);
    if (away && !placed) this.corrections++;
    this.#off = placed || away > JUMP ? [0, 0] : [this.#off[0] + off[0], this.#off[1] + off[1]];
  }

  // frame is to be called once a frame, with the buttons that are down and the part of the next command that has passed.
  frame(dt, buttons, part) {
    const [x, y] = this.hp > 0 && this.#pending.length < MOST ? move(this.#x, this.#y, buttons & MOTION) : [this.#x, this.#y];
    this.#part = [(x - this.#x) * part, (y - this.#y) * part];
    this.#off = this.#off.map(v => Math.abs(v) < 1 ? 0 : v * Math.exp(-dt / FADE_MS));
  }
}

// What is seen of events: lines of shots, sparks, rings and words that last for a moment. An event waits until others are drawn
// as they were when it happened.
import { REACH, SCALE } from './sim.js';

export const KIND = { shot: 1, kill: 2, began: 3, taken: 4, renewed: 5, named: 16 };
const MOST = 160; // that are seen or wait
const OLD = 15; // ticks after which an event is not worth a picture
const still = matchMedia('(prefers-reduced-motion: reduce)');

export class Effects {
  seen = []; // {kind, x, y, age, life, colour, ...}, times in ms
  #waiting = []; // {tick, show}

  // at runs a function when a tick is drawn.
  at(tick, show) {
    this.#waiting.push({ tick, show });
    if (this.#waiting.length > MOST) this.#waiting.shift();
  }

  frame(t, dt) {
    const due = this.#waiting.filter(w => w.tick <= t);
    this.#waiting = this.#waiting.filter(w => w.tick > t);
    for (const w of due) if (w.tick > t - OLD) w.show();
    for (const e of this.seen) {
      e.age += dt;
      e.x += (e.vx ?? 0) * dt;
      e.y += (e.vy ?? 0) * dt;
    }
    this.seen = this.seen.filter(e => e.age < e.life).slice(-MOST);
  }

  clear() { this.seen = []; this.#waiting = []; }

  // shot is a line from a player, to what it hits or as far as it reaches. An aim is in 1/256 of a turn.
  shot(from, aim, hit, colour) {
    const a = aim / 128 * Math.PI, far = hit ? Math.hypot(hit.x - from.x, hit.y - from.y) : REACH;
    this.seen.push({ kind: 'line', x: from.x, y: from.y, cos: Math.cos(a), sin: Math.sin(a), from: 24 * SCALE, far, to: hit, age: 0, life: 160, colour });
    if (hit) this.sparks(hit, 6, colour);
  }

  ring(at, colour) { this.seen.push({ kind: 'ring', x: at.x, y: at.y, age: 0, life: 500, colour }); }

  words(at, text, colour) { this.seen.push({ kind: 'words', x: at.x, y: at.y - 30 * SCALE, vy: still.matches ? 0 : -0.6, text, age: 0, life: 900, colour }); }

  sparks(at, n, colour) {
    if (still.matches) return;
    for (let i = 0; i < n; i++) {
      const a = Math.random() * 2 * Math.PI, v = (1 + Math.random() * 3);
      this.seen.push({ kind: 'spark', x: at.x, y: at.y, vx: Math.cos(a) * v, vy: Math.sin(a) * v, age: 0, life: 250 + Math.random() * 250, colour });
    }
  }
}

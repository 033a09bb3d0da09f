// What is seen of events: lines, sparks, rings and words that last for a moment, once others are drawn as they were then.
import { REACH, SCALE } from './sim.js';

export const KIND = { shot: 1, kill: 2, began: 3, taken: 4, renewed: 5, named: 16 };
const MOST = 160, OLD = 15; // that are seen or wait; ticks after which an event is not worth a picture
const still = matchMedia('(prefers-reduced-motion: reduce)');
export class Effects {
  seen = []; // {kind, x, y, vx, vy, age, life, colour}; times in ms
  #waiting = []; // {tick, show}

  // at runs a function when a tick is drawn.
  at(tick, show) { this.#waiting = [...this.#waiting, { tick, show }].slice(-MOST); }
  clear() { this.seen = this.#waiting = []; }

  frame(t, dt) {
    const due = this.#waiting.filter(w => w.tick <= t && w.tick > t - OLD);
    this.#waiting = this.#waiting.filter(w => w.tick > t);
    for (const w of due) w.show();
    for (const e of this.seen) [e.age, e.x, e.y] = [e.age + dt, e.x + e.vx * dt, e.y + e.vy * dt];
    this.seen = this.seen.filter(e => e.age < e.life).slice(-MOST);
  }

  #add(kind, { x, y }, life, colour, more) { this.seen.push({ kind, x, y, vx: 0, vy: 0, age: 0, life, colour, ...more }); }

  // shot is a line from a player, to what it hits or as far as it reaches.
  shot(from, hit, colour) {
    const a = from.dir / 128 * Math.PI;
    this.#add('line', from, 160, colour, { cos: Math.cos(a), sin: Math.sin(a), far: hit ? Math.hypot(hit.x - from.x, hit.y - from.y) : REACH });
    if (hit) this.sparks(hit, 6, colour);
  }

  ring(at, colour) { this.#add('ring', at, 500, colour); }
  words({ x, y }, text, colour) { this.#add('words', { x, y: y - 30 * SCALE }, 900, colour, { text, vy: still.matches ? 0 : -0.6 }); }

  sparks(at, n, colour) {
    for (let i = 0; i < n && !still.matches; i++) {
      const a = Math.random() * 2 * Math.PI, v = 1 + Math.random() * 3;
      this.#add('spark', at, 250 + Math.random() * 250, colour, { vx: Math.cos(a) * v, vy: Math.sin(a) * v });
    }
  }
}

// The way to the server and its clock, by Ping and Pong: the quickest exchange has the truest offset, as the least of it was waiting.
import { TICK_MS } from './sim.js';

const KEPT = 20; // exchanges
export class Clock {
  rtt = 0; jitter = 0; #samples = []; // ms, smoothed: of an exchange, and from one to the next

  pong({ clientMs, serverMs, tick }, now) {
    const rtt = Math.max(now - clientMs, 0), last = this.#samples.at(-1) ?? { rtt };
    this.rtt = this.#samples.length ? this.rtt * 0.8 + rtt * 0.2 : rtt;
    this.jitter = this.jitter * 0.8 + Math.abs(rtt - last.rtt) * 0.2;
    this.#samples = [...this.#samples, { rtt, offset: serverMs - (now + clientMs) / 2, phase: serverMs - tick * TICK_MS }].slice(-KEPT);
  }

  // tick is the one that the server has at a time of the page, with its fraction; undefined: there was no Pong.
  tick(now) {
    if (!this.#samples.length) return undefined;
    const { offset } = this.#samples.reduce((a, b) => b.rtt < a.rtt ? b : a);
    return (now + offset - Math.min(...this.#samples.map(s => s.phase))) / TICK_MS;
  }
}

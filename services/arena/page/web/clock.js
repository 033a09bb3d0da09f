// What the page knows of the way to the server and of the server's clock, by Ping and Pong. The quickest of the last exchanges
// has the truest offset, because the least of it was waiting.
import { TICK_MS } from './sim.js';

const KEPT = 20; // exchanges

export class Clock {
  samples = [];
  rtt = 0; // ms, smoothed
  jitter = 0; // ms: the mean change from one exchange to the next

  pong({ clientMs, serverMs, tick }, now) {
    const rtt = Math.max(now - clientMs, 0), last = this.samples.at(-1);
    this.samples.push({ rtt, offset: serverMs - (now + clientMs) / 2, phase: serverMs - tick * TICK_MS });
    if (this.samples.length > KEPT) this.samples.shift();
    this.rtt = last ? this.rtt * 0.8 + rtt * 0.2 : rtt;
    if (last) this.jitter = this.jitter * 0.8 + Math.abs(rtt - last.rtt) * 0.2;
  }

  // tick is the one that the server has at a time of the page, with its fraction; undefined: there was no Pong.
  tick(now) {
    if (!this.samples.length) return undefined;
    const { offset } = this.samples.reduce((a, b) => b.rtt < a.rtt ? b : a);
    return (now + offset - Math.min(...this.samples.map(s => s.phase))) / TICK_MS;
  }
}

// The states that came, and where others are drawn: a little in the past, between two of them. How far in the past follows from how
// unevenly they come. Time is stretched or squeezed by a quarter at most to get there, and no player is ever drawn faster than PACE.
import { TICK_MS, TOP_SPEED, SCALE } from './sim.js';
import { hash } from './bits.js';

const KEPT = 64; // states: two seconds
const HASHES = 300; // ticks: ten seconds
const ARRIVALS = 256; // whose lateness counts: eight seconds
const STALL_MS = 400; // without a state: a stall, after which the newest is drawn next
const SETTLE_MS = 600; // that old states may pour in after one, until a new one is there
const SOONEST = 1.5, LATEST = 8; // ticks in the past
const PACE = 1.75; // times the top speed
const LEAP = 320; // units a tick; the server lets a player move 256

function keep(list, v, most) {
  list.push(v);
  if (list.length > most) list.shift();
}

export class Timeline {
  states = [];
  drawn = new Map(); // others, by id: {id, x, y, dir, hp, score, life}
  t = 0; // the tick that is drawn, with its fraction
  delay = 3; // ticks in the past
  late = 0; // states that came after the time when they were to be drawn
  maxStep = 0; // the fastest that another was drawn to move, in times the top speed
  wrong = 0; // states whose hash is not the one that the server says
  #hashes = new Map();
  #arrivals = [];
  #heard = 0; // when a state last came, ms
  #settling = 0; // since when states come again after a stall, ms; 0: no stall
  #snap = true; // the next frame is of the newest state, wherever others were
  #shown = 0;

  get settling() { return this.#settling > 0; }
  get newest() { return this.states.at(-1); }
  get tick() { return this.#settling ? this.#shown : this.newest?.tick ?? 0; }
  hashAt(tick) { return this.#hashes.get(tick); }
  quietFor(now) { return this.#heard ? now - this.#heard : 0; }

  // add takes a state: {tick, entities, hash if the server says it}. It returns false for one that is not newer than the newest.
  add({ tick, entities, hash: said }, now) {
    const before = this.newest, sum = hash(entities), byId = new Map();
    if (before && tick <= before.tick) return false;
    this.#hashes.set(tick, sum);
    for (const old of this.#hashes.keys()) if (old <= tick - HASHES) this.#hashes.delete(old); else break;
    if (said && said !== sum) this.wrong++;
    if (before && now - this.#heard > STALL_MS) this.#stall(now);
    this.#heard = now;
    if (tick < this.t) this.late++;
    for (const e of entities) {
      const was = before?.byId.get(e.id), far = LEAP * (tick - before?.tick);
      // A life is motion without a leap; it is named by its first tick.
      const goesOn = was && (was.hp > 0 || e.hp === 0) && Math.abs(e.x - was.x) <= far && Math.abs(e.y - was.y) <= far;
      byId.set(e.id, { ...e, life: goesOn ? was.life : tick });
    }
    keep(this.states, { tick, byId }, KEPT);
    keep(this.#arrivals, now - tick * TICK_MS, ARRIVALS);
    this.#settle(now);
    return true;
  }

  #stall(now) { this.#shown = this.tick; this.#settling = now; }

  // #head is the tick that would be the newest if all came as quickly as the quickest.
  #head(now) { return (now - Math.min(...this.#arrivals)) / TICK_MS; }

  #settle(now) {
    if (!this.#settling || this.#head(now) - this.newest.tick > 1 && now - this.#settling < SETTLE_MS) return;
    this.#settling = 0;
    this.#snap = true;
  }

  // #adapt has most states come before they are drawn. What a stall held up says nothing of the usual lateness.
  #adapt() {
    const quickest = Math.min(...this.#arrivals);
    const late = Float64Array.from(this.#arrivals, a => a - quickest).filter(ms => ms < STALL_MS).sort();
    this.delay = Math.min(Math.max(1.25 + late[Math.floor(late.length * 0.97)] / TICK_MS, SOONEST), LATEST);
  }

  // frame draws others for a time, dt ms after the last frame. It returns false when there is nothing new to draw, in a stall.
  frame(now, dt, me) {
    if (!this.newest) return false;
    if (dt > STALL_MS && !this.#settling) this.#stall(now); // the page was hidden
    this.#settle(now);
    if (this.#settling) return false;
    this.#adapt();
    const off = this.#head(now) - this.delay - this.t;
    this.t += dt / TICK_MS * (1 + Math.min(Math.max(off * 0.1, -0.25), 0.25));
    if (this.#snap || this.t > this.newest.tick || this.newest.tick - this.t > KEPT / 2) this.t = this.newest.tick;
    this.#place(dt, me);
    this.#snap = false;
    return true;
  }

  #place(dt, me) {
    let i = this.states.length - 1;
    while (i > 0 && this.states[i - 1].tick >= this.t) i--;
    const to = this.states[i], from = this.states[i - 1] ?? to;
    const part = to === from ? 1 : Math.max((this.t - from.tick) / (to.tick - from.tick), 0);
    const drawn = new Map(), most = PACE * TOP_SPEED * SCALE * dt / 1000;
    for (const b of to.byId.values()) {
      if (b.id === me) continue;
      const a = from.byId.get(b.id) ?? b, leaps = a.life !== b.life, was = this.drawn.get(b.id);
      const d = { ...(leaps && part < 1 ? a : b) };
      if (!leaps) {
        d.x = a.x + (b.x - a.x) * part;
        d.y = a.y + (b.y - a.y) * part;
        d.dir = a.dir + ((b.dir - a.dir + 384) % 256 - 128) * part;
      }
      if (was?.life === d.life && !this.#snap && dt > 0) {
        const away = Math.hypot(d.x - was.x, d.y - was.y), step = Math.min(away, most);
        if (away > step) [d.x, d.y] = [was.x + (d.x - was.x) * step / away, was.y + (d.y - was.y) * step / away];
        this.maxStep = Math.max(this.maxStep, step / most * PACE);
      }
      drawn.set(d.id, d);
    }
    this.drawn = drawn;
  }
}

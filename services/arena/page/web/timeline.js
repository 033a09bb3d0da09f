// The states that came, and where others are drawn: a little in the past, between two of them. How far in the past follows from how
// unevenly they come. Time is stretched or squeezed by a quarter at most to get there, and no player is ever drawn faster than PACE.
import { TICK_MS, TOP_SPEED, SCALE } from './sim.js';
import { hash } from './bits.js';

const KEPT = 64, HASHES = 300, ARRIVALS = 256; // states, of which two, ten and eight seconds are kept
const STALL_MS = 400; // without a state: a stall, after which the newest is drawn next
const SETTLE_MS = 600; // that old states may pour in after one, until a new one is there
const SOONEST = 1.5, LATEST = 8; // ticks in the past
const PACE = 1.75, LEAP = 320; // times the top speed; units a tick, of which the server lets a player move 256
const between = (v, least, most) => Math.min(Math.max(v, least), most);
export class Timeline {
  drawn = new Map(); // others, by id: {id, x, y, dir, hp, score, life}
  t = 0; // the tick that is drawn, with its fraction
  delay = 3; // ticks in the past
  late = 0; wrong = 0; // states that came after they were to be drawn; whose hash is not the one that the server says
  maxStep = 0; // the fastest that another was drawn to move, in times the top speed
  #states = []; #hashes = new Map(); // {tick, byId}; by tick
  #arrivals = []; // when states came, less when their ticks were, ms
  #heard = 0; // when a state last came, ms
  #settling = 0; #shown = 0; // since when states come again after a stall, ms, or 0; the tick before that
  #snap = true; // the next frame is of the newest state, wherever others were

  get settling() { return this.#settling > 0; }
  get newest() { return this.#states.at(-1); }
  get tick() { return this.settling ? this.#shown : this.newest?.tick ?? 0; }
  hashAt(tick) { return this.#hashes.get(tick); }
  quietFor(now) { return this.newest ? now - this.#heard : 0; }

  // add takes a state: {tick, entities, hash if the server says it}. It returns false for one that is not newer than the newest.
  add({ tick, entities, hash: said }, now) {
    const before = this.newest, sum = hash(entities), byId = new Map(), far = LEAP * (tick - before?.tick);
    if (tick <= before?.tick) return false;
    if (said && said !== sum) this.wrong++;
    if (tick < this.t) this.late++;
    if (this.quietFor(now) > STALL_MS) this.#stall(now);
    this.#heard = now;
    for (const e of entities) {
      const was = before?.byId.get(e.id);
      // A life is motion without a leap; it is named by its first tick.
      const goesOn = was && (was.hp > 0 || e.hp === 0) && Math.abs(e.x - was.x) <= far && Math.abs(e.y - was.y) <= far;
      byId.set(e.id, { ...e, life: goesOn ? was.life : tick });
    }
    this.#states = [...this.#states, { tick, byId }].slice(-KEPT);
    this.#arrivals = [...this.#arrivals, now - tick * TICK_MS].slice(-ARRIVALS);
    this.#hashes.set(tick, sum);
    for (const old of this.#hashes.keys()) if (old <= tick - HASHES) this.#hashes.delete(old); else break;
    this.#settle(now);
    return true;
  }

  #stall(now) { [this.#shown, this.#settling] = [this.tick, now]; }
  #settle(now) {
    if (!this.#settling || this.#head(now) - this.newest.tick > 1 && now - this.#settling < SETTLE_MS) return;
    [this.#settling, this.#snap] = [0, true];
  }

  // #head is the tick that would be the newest if all came as quickly as the quickest.
  #head(now) { return (now - Math.min(...this.#arrivals)) / TICK_MS; }

  // #adapt has most states come before they are drawn. What a stall held up says nothing of the usual lateness.
  #adapt() {
    const quickest = Math.min(...this.#arrivals);
    const late = Float64Array.from(this.#arrivals, a => a - quickest).filter(ms => ms < STALL_MS).sort();
    this.delay = between(1.25 + late[Math.floor(late.length * 0.97)] / TICK_MS, SOONEST, LATEST);
  }

  // frame draws others for a time, dt ms after the last frame. It returns false when there is nothing new to draw, in a stall.
  frame(now, dt, me) {
    if (dt > STALL_MS && !this.#settling) this.#stall(now); // the page was hidden
    this.#settle(now);
    if (this.#settling) return false;
    this.#adapt();
    const { tick } = this.newest, off = this.#head(now) - this.delay - this.t;
    this.t += dt / TICK_MS * (1 + between(off * 0.1, -0.25, 0.25));
    if (this.#snap || this.t > tick || tick - this.t > KEPT / 2) this.t = tick;
    this.#place(dt, me);
    this.#snap = false;
    return true;
  }

  #place(dt, me) {
    const i = Math.max(this.#states.findIndex(s => s.tick >= this.t), 0), to = this.#states[i], from = this.#states[i - 1] ?? to;
    const part = to === from ? 1 : Math.max((this.t - from.tick) / (to.tick - from.tick), 0);
    const drawn = new Map(), most = PACE * TOP_SPEED * SCALE * dt / 1000;
    for (const b of to.byId.values()) {
      if (b.id === me) continue;
      const a = from.byId.get(b.id) ?? b, was = this.drawn.get(b.id), d = { ...(a.life !== b.life && part < 1 ? a : b) };
      if (a.life === b.life) {
        [d.x, d.y] = [a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part];
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

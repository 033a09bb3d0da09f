// Decodes the states of subprotocol arena.v1.bits. docs/reference/arena-bits.md has the meaning of
// each bit; package delta encodes them, and its test runs this decoder on the same vectors.

const edge = 31999, full = 100, perTick = 2, far = 64, most = 4096, leastEntity = 45;
const none = -1; // the step of a player that moved by no step
const paces = [perTick, 2 * perTick, 1, 3];
const steps = [[0, 0], [64, 0], [45, 45], [0, 64], [-45, 45], [-64, 0], [-45, -45], [0, -64], [45, -45]];

class Bits {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = 8 * at; // the next bit
    this.end = 8 * bytes.length;
  }
  u(n) { // at most 32 bits
    if (this.at + n > this.end) throw new Error('the bits end within a number');
    let v = 0;
    while (n > 0) {
      const free = 8 - (this.at & 7), take = Math.min(n, free);
      v = v * 2 ** take + ((this.bytes[this.at >> 3] >> (free - take)) & (2 ** take - 1));
      this.at += take;
      n -= take;
    }
    return v;
  }
  e(order) {
    let zeros = 0;
    while (zeros + order <= 32 && this.u(1) === 0) zeros++;
    const v = zeros + order > 32 ? NaN : 2 ** (zeros + order) + this.u(zeros + order) - 2 ** order;
    if (v < 2 ** 32) return v;
    throw new Error('a number has more than 32 bits');
  }
  s(order) { return unzigzag(this.e(order)); }
  done() {
    if (this.end - this.at >= 8 || this.u(this.end - this.at) !== 0) throw new Error('there is more behind the last number');
  }
}

const unzigzag = (u) => (u >>> 1) ^ -(u & 1);

// hash is the FNV-1a of 64 bits of entities, in hexadecimal digits.
export function hash(entities) {
  let high = 0xcbf29ce4, low = 0x84222325;
  const word = (v) => {
    for (let i = 0; i < 32; i += 8) {
      low ^= (v >>> i) & 255;
      // times 2^40 + 0x1b3: the low half times 0x1b3 in parts of 16 bits carries into the high half
      const a = (low & 0xffff) * 0x1b3, b = (low >>> 16) * 0x1b3 + (a >>> 16);
      high = (Math.imul(high, 0x1b3) + (low << 8) + (b >>> 16)) | 0;
      low = (b << 16) | (a & 0xffff);
    }
  };
  for (const e of entities) [e.id, e.x, e.y, e.dir, e.hp, e.score].forEach(word);
  return hex(high) + hex(low);
}

const hex = (v) => (v >>> 0).toString(16).padStart(8, '0');
const clamp = (v) => Math.min(Math.max(v, 0), edge);
const heading = (step) => (step - 1) * 32;
const moved = (x, y, step, commands) =>
  step === 0 ? [x, y] : [clamp(x + steps[step][0] * commands), clamp(y + steps[step][1] * commands)];

// goingOn is how an entity moves, and where it is if it goes on.
function goingOn(from, before, age, ticks) {
  const m = {from, ticks, step: 0, at: [from.x, from.y]};
  if (!before || ticks > far || age > far) return m;
  m.step = stepBetween(before, from, age);
  if (m.step !== none) m.at = moved(from.x, from.y, m.step, perTick * ticks);
  else m.at = ['x', 'y'].map((c) => (from[c] + Math.trunc((from[c] - before[c]) * ticks / age)) | 0);
  return m;
}

function stepBetween(before, from, age) {
  for (const pace of paces) {
    for (let step = 0; step < steps.length; step++) {
      const [x, y] = moved(before.x, before.y, step, pace * age);
      if (x === from.x && y === from.y) return step;
    }
  }
  return none;
}

function turned(m, step, half) {
  const {from, ticks} = m;
  if (!half) return moved(from.x, from.y, step, perTick * ticks);
  return moved(...moved(from.x, from.y, Math.max(m.step, 0), ticks), step, ticks); // of two commands a tick
}

function aimOf(m, step) {
  const {dir} = m.from;
  const follows = m.step > 0 ? dir === heading(m.step) : dir % 32 === 0 && dir < 256;
  return step > 0 && follows ? heading(step) : dir;
}

function readStep(r, last) {
  const step = r.u(3);
  if (last === none) return step === 7 ? step + r.u(1) : step;
  return step >= last ? step + 1 : step;
}

function readAim(r, expected) {
  const v = r.e(2);
  return v < 256 ? (expected + unzigzag(v)) & 255 : v;
}

const readPlace = (r, n = r.u(1) ? 32 : 15) => [r.u(n) | 0, r.u(n) | 0];

function readJoined(r, entities, order) {
  const count = r.e(order);
  if (entities.length + count > most) throw new Error(`it has ${entities.length + count} entities; a state has at most ${most}`);
  if (count * leastEntity > r.end - r.at) throw new Error(`it has ${count} entities in ${r.end - r.at} bits`);
  for (let i = 0, least = 0; i < count; i++) {
    const id = least + r.e(0);
    if (id >= 2 ** 32) throw new Error('the id of an entity has more than 32 bits');
    const [x, y] = readPlace(r);
    const dir = r.u(r.u(1) ? 32 : 8);
    const hp = r.u(1) ? r.e(4) : full;
    entities.push({id, x, y, dir, hp, score: r.e(2)});
    least = id + 1;
  }
}

// readRecord returns what became of an entity; null: it is no more.
function readRecord(r, m) {
  const {id, hp, score} = m.from;
  const step = (half) => {
    const s = readStep(r, m.step), [x, y] = turned(m, s, half);
    return {id, x, y, dir: aimOf(m, s), hp, score};
  };
  if (!r.u(1)) return step(false);
  if (!r.u(1)) return {id, x: m.at[0], y: m.at[1], dir: readAim(r, m.from.dir), hp, score};
  if (!r.u(1)) return step(true);
  if (r.u(1)) return null;
  const placed = ([x, y], dir = m.from.dir) => ({id, x: x | 0, y: y | 0, dir, hp, score});
  const plus = (x, y) => placed([x + r.s(6), y + r.s(6)]);
  const paced = (p, s) => placed(moved(m.from.x, m.from.y, s, p * m.ticks), aimOf(m, s));
  const forms = [() => placed(m.at), () => step(false), () => step(true), () => paced(r.u(2) + 1, r.u(3) + 1),
    () => plus(...m.at), () => plus(m.from.x, m.from.y), () => placed(readPlace(r))];
  const form = r.u(3);
  if (form >= forms.length) throw new Error(`entity ${id} has a place of form ${form}`);
  const e = forms[form]();
  if (r.u(1)) e.dir = readAim(r, e.dir);
  if (r.u(1)) e.hp = (e.hp + r.s(4)) >>> 0;
  if (r.u(1)) e.score = (e.score + r.s(2)) >>> 0;
  return e;
}

function readChanges(r, base, before, age, ticks) {
  const order = r.u(3), old = new Map(before.map((e) => [e.id, e])), entities = [];
  for (let i = 0; i < base.length;) {
    let run = r.e(order); // how many are as predicted; then one is not
    if (run > base.length - i) throw new Error(`${run} entities are as predicted, and ${base.length - i} are left`);
    for (; run > 0; run--, i++) {
      const [x, y] = goingOn(base[i], old.get(base[i].id), age, ticks).at;
      entities.push({...base[i], x, y});
    }
    if (i === base.length) break;
    const e = readRecord(r, goingOn(base[i], old.get(base[i].id), age, ticks));
    if (e) entities.push(e);
    i++;
  }
  return entities;
}

// Decoder decodes the states of one connection. They are the caller's to read, not to change.
export class Decoder {
  #base = null;
  #before = null;

  // decode decodes a message, whose first byte is 1. An error means that the connection is of no use.
  decode(message) {
    if (message[0] !== 1) throw new Error('it does not begin with 1, as a state in bits does');
    let at = 1, ackedSeq = 0;
    do ackedSeq += (message[at] & 127) * 2 ** (7 * (at - 1));
    while (message[at++] & 128 && at < 7);
    if (at > message.length || ackedSeq >= 2 ** 32) throw new Error('the acknowledged sequence number is not a varint of 32 bits');
    const r = new Bits(message, at), delta = r.u(1) === 0, check = r.u(8);
    const state = delta ? this.#delta(r) : {tick: r.u(32), entities: []};
    if (!delta) readJoined(r, state.entities, 5);
    r.done();
    if (parseInt(hash(state.entities).slice(0, 2), 16) !== check) throw new Error(`the state of tick ${state.tick} is not the sender's`);
    this.#before = this.#base;
    this.#base = state;
    return {tick: state.tick, ackedSeq, entities: state.entities};
  }

  #delta(r) {
    const ticks = r.e(0) + 1, age = r.e(0), tick = r.u(4), base = this.#base;
    const before = age === 1 ? null : this.#before, gap = age === 0 ? 1 : age;
    if (!base || base.tick % 16 !== tick || age !== 1 && base.tick - before?.tick !== gap || base.tick + ticks >= 2 ** 32) {
      throw new Error('it is the difference from a state that was not decoded here');
    }
    const entities = readChanges(r, base.entities, before ? before.entities : [], gap, ticks);
    const joined = entities.length;
    readJoined(r, entities, 0);
    if (joined < entities.length) entities.sort((a, b) => a.id - b.id);
    if (entities.some((e, i) => i > 0 && entities[i - 1].id === e.id)) throw new Error('an entity joins that is there');
    return {tick: base.tick + ticks, entities};
  }
}

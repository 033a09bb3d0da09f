// The messages of arena.proto. A message is a table of its fields by number: a name and a kind, which is a letter below, another
// message, or a list with one for a field that repeats. Bytes that are not of a message give a Malformed, never anything else.
export class Malformed extends Error {}

// uint32, uint64 as a number (exact up to 2^53), sint32, bool, fixed32, fixed64 as 16 hex digits, string, bytes
const zero = { u: 0, n: 0, s: 0, o: false, f: 0, h: '0000000000000000', t: '', b: new Uint8Array() };
const SKIP = { 0: 'n', 1: 'h', 2: 'b', 5: 'f' }; // how a value of a wire type is read, whatever it is
const type = kind => ({ u: 0, n: 0, s: 0, o: 0, f: 5, h: 1 })[kind] ?? 2; // of the wire
const Event = { 1: ['timestampMs', 'n'], 2: ['entityId', 'f'], 3: ['actionType', 'u'], 4: ['payload', 'b'] };
const Entity = { 1: ['id', 'u'], 2: ['x', 's'], 3: ['y', 's'], 4: ['dir', 'u'], 5: ['hp', 'u'], 6: ['score', 'u'] };
const Command = { 1: ['seq', 'u'], 2: ['buttons', 'u'], 3: ['aim', 's'], 4: ['viewTick', 'u'] };
export const ClientFrame = {
  1: ['join', { 1: ['token', 't'], 2: ['name', 't'], 3: ['room', 't'], 4: ['spectate', 'o'], 5: ['resume', 't'] }],
  2: ['input', { 1: ['seq', 'u'], 2: ['ackTick', 'u'], 3: ['commands', [Command]] }],
  3: ['ping', { 1: ['clientMs', 'n'] }], 4: ['leave', {}],
};
export const ServerFrame = {
  1: ['welcome', {
    1: ['entityId', 'u'], 2: ['room', 't'], 3: ['resume', 't'], 4: ['tick', 'u'],
    5: ['tickHz', 'u'], 6: ['world', 'u'], 7: ['scale', 'u'], 8: ['topSpeed', 'u'],
  }],
  2: ['snapshot', { 1: ['tick', 'u'], 2: ['ackedSeq', 'u'], 3: ['entities', [Entity]], 4: ['hash', 'h'] }],
  3: ['pong', { 1: ['clientMs', 'n'], 2: ['serverMs', 'n'], 3: ['tick', 'u'] }],
  4: ['error', { 1: ['code', 't'], 2: ['message', 't'] }], 5: ['event', Event],
};

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }
  take(n) {
    if (n > this.bytes.length - this.at) throw new Malformed(`${n} bytes are announced and ${this.bytes.length - this.at} are left`);
    return this.bytes.subarray(this.at, this.at += n);
  }
  n() {
    for (let v = 0, by = 1, i = 0; i < 10; i++, by *= 128) {
      const [b] = this.take(1);
      v += (b & 127) * by;
      if (b < 128) return v;
    }
    throw new Malformed('a number has no end');
  }
  u() { return this.n() >>> 0; }
  o() { return this.n() !== 0; }
  s() { const v = this.u(); return v >>> 1 ^ -(v & 1); }
  f() { const b = this.take(4); return (b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24) >>> 0; }
  h() { return [...this.take(8)].reverse().map(b => b.toString(16).padStart(2, '0')).join(''); }
  b() { return this.take(this.n()); }
  t() { try { return new TextDecoder('utf-8', { fatal: true }).decode(this.b()); } catch { throw new Malformed('a text is not UTF-8'); } }
  value(kind) { return typeof kind === 'string' ? this[kind]() : read(this.b(), kind); }
  skip(wire) { if (wire in SKIP) this[SKIP[wire]](); else throw new Malformed(`there is no wire type ${wire}`); }
}

// read returns the message that bytes are.
export function read(bytes, fields) {
  const out = {}, r = new Reader(bytes);
  for (const [name, kind] of Object.values(fields)) if (Array.isArray(kind)) out[name] = []; else if (kind in zero) out[name] = zero[kind];
  while (r.at < bytes.length) {
    const key = r.u(), wire = key & 7;
    if (key < 8) throw new Malformed('there is no field 0');
    const [name, kind] = fields[key >>> 3] ?? [];
    if (!name) r.skip(wire);
    else if (wire !== type(kind)) throw new Malformed(`${name} has the wire type ${wire}`);
    else if (Array.isArray(kind)) out[name].push(r.value(kind[0])); else out[name] = r.value(kind);
  }
  return out;
}

const put = {
  n(out, v) { for (; v > 127; v = Math.floor(v / 128)) out.push(v % 128 + 128); out.push(v); },
  u(out, v) { put.n(out, v >>> 0); },
  s(out, v) { put.n(out, (v << 1 ^ v >> 31) >>> 0); },
  o(out, v) { out.push(v ? 1 : 0); },
  f(out, v) { for (let i = 0; i < 32; i += 8) out.push(v >>> i & 255); },
  b(out, v) { put.n(out, v.length); for (const b of v) out.push(b); },
  t(out, v) { put.b(out, new TextEncoder().encode(v)); },
};

// write returns the bytes of a message; fields that it lacks or that are zero are not in them.
export function write(value, fields) {
  const out = [];
  for (const [number, [name, kind]] of Object.entries(fields)) {
    const list = Array.isArray(kind);
    for (const v of list ? value[name] ?? [] : value[name] ? [value[name]] : []) {
      put.n(out, number * 8 + type(kind));
      if (typeof kind === 'string') put[kind](out, v); else put.b(out, write(v, list ? kind[0] : kind));
    }
  }
  return Uint8Array.from(out);
}

// place reads the payload of an event of the game: a number and a point.
export function place(payload) {
  const r = new Reader(payload);
  return { number: r.f(), x: r.f() | 0, y: r.f() | 0 };
}

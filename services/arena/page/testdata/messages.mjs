// Reads messages as the server writes them, writes those of a client, and tries bytes that are of neither.
import { readFileSync } from 'node:fs';
import { read, write, ClientFrame, ServerFrame, Malformed } from './wire.js';

const input = JSON.parse(readFileSync(0, 'utf8'));
const bytes = text => new Uint8Array(Buffer.from(text, 'base64'));
const base64 = b => Buffer.from(b).toString('base64');

// plain has a message as Protobuf's JSON has it.
const plain = (v, name) => {
  if (v instanceof Uint8Array) return base64(v);
  if (Array.isArray(v)) return v.map(e => plain(e));
  if (name === 'hash') return BigInt('0x' + v).toString();
  if (name?.endsWith('Ms')) return String(v);
  return typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([k, e]) => [k, plain(e, k)])) : v;
};

const tried = b => { try { read(b, ServerFrame); } catch (err) { if (!(err instanceof Malformed)) throw err; } };
let seed = 7;
const random = n => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % n;
for (const m of input.server) {
  const whole = bytes(m.bytes);
  for (let i = 0; i <= whole.length; i++) tried(whole.subarray(0, i));
  for (let i = 0; i < 3000; i++) {
    const b = whole.slice();
    for (let n = random(4); n >= 0 && b.length; n--) b[random(b.length)] = random(256);
    tried(b);
  }
}

const server = input.server.map(m => ({ json: plain(read(bytes(m.bytes), ServerFrame)) }));
const client = input.client.map(m => ({ bytes: base64(write(read(bytes(m.bytes), ClientFrame), ClientFrame)) }));
console.log(JSON.stringify({ server, client }));

// Checks that bits.js decodes the messages of vectors.json: node check.mjs BITS.js VECTORS.json
import {readFileSync} from 'node:fs';

const [, , script, file] = process.argv;
const {Decoder, hash} = await import('data:text/javascript;base64,' + readFileSync(script).toString('base64'));
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (b) => parseInt(b, 16));
const {streams, refused} = JSON.parse(readFileSync(file));
let messages = 0;

for (const {name, states} of streams) {
  const decoder = new Decoder();
  for (const want of states) {
    const got = decoder.decode(bytes(want.message));
    const id = hash(got.entities);
    if (got.tick !== want.tick || got.ackedSeq !== want.acked || got.entities.length !== want.entities || id !== want.hash) {
      throw new Error(`${name}, tick ${want.tick}: ${JSON.stringify({...got, hash: id})}, not ${JSON.stringify(want)}`);
    }
    messages++;
  }
}
for (const {name, stream, after, message} of refused) {
  const decoder = new Decoder();
  for (const s of streams[stream].states.slice(0, after)) decoder.decode(bytes(s.message));
  let error = null;
  try { decoder.decode(bytes(message)); } catch (e) { error = e; }
  if (error === null || error instanceof TypeError || error instanceof RangeError) throw new Error(`${name}: ${error ?? 'it is not refused'}`);
}
console.log(`${messages} messages, ${refused.length} refused`);

// Reads moves.json, and does each move and hash by the page's module.
import { readFileSync } from 'node:fs';
import { move } from './sim.js';
import { hash } from './bits.js';

const { moves, hashes } = JSON.parse(readFileSync(0, 'utf8'));
let moved = 0, hashed = 0;
for (const [x, y, buttons, toX, toY] of moves) {
  const [gotX, gotY] = move(x, y, buttons);
  if (gotX === toX && gotY === toY) moved++; else console.log(`(${x}, ${y}) with ${buttons}: (${gotX}, ${gotY}), not (${toX}, ${toY})`);
}
for (const { entities, hash: want } of hashes) {
  const got = hash(entities.map(([id, x, y, dir, hp, score]) => ({ id, x, y, dir, hp, score })));
  if (got === want) hashed++; else console.log(`${entities.length} entities: ${got}, not ${want}`);
}
console.log(`${moved} moves, ${hashed} hashes`);

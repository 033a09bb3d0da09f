// Random controls of test chains, and transactions, to two nodes that are new: node controls.mjs A B [STEPS [SEED]].
// A is chaind serve --test, B anvil. After each step it compares balances, nonces, code, storage, the head and the
// waiting transactions, and prints the first step after which they differ, with those before; exit code 1. The same
// seed takes the same steps.
//
// Not asked, since the two differ on purpose: chaind's revert brings back what waited, too, and leaves the gas limit;
// chaind drops a transaction behind a gap, too, and keeps one that can no longer pay; an account that is made for a slot
// has the nonce 1, or it would be removed; a block is a second later than the one before, where anvil's may have the same
// time; and an estimate may be 1.5% more than the least gas.
import http from "node:http";

const [a, b, steps = "300", seed = "1"] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const post = (url, method, params) => new Promise((done, failed) => {
  const request = http.request(url, { method: "POST", agent, headers: { "Content-Type": "application/json" } }, async (response) => {
    done(JSON.parse(Buffer.concat(await response.toArray())));
  });
  request.on("error", failed);
  request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
});
const both = (method, params) => Promise.all([post(a, method, params[0]), post(b, method, params[1])]);
const same = (method, ...params) => both(method, [params, params]);

let s = Number(seed);
const random = () => { // mulberry32
  let t = (s = (s + 0x6d2b79f5) | 0);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};
const of = (...values) => values[Math.floor(random() * values.length)];
const hex = (n) => "0x" + BigInt(n).toString(16);
const ether = 10n ** 18n;

const people = (await post(a, "eth_accounts", [])).result.slice(0, 4);
const others = ["0x1234", "0x4321", "0xbeef"].map((n) => "0x" + n.slice(2).padStart(40, "0"));
const coinbase = "0x" + "c0de".padStart(40, "0");
const codes = ["0x600160005500", "0x4360005500", "0x5f545f5260205ff3", "0x60006000fd", "0x60015460010160015500", "0x33ff"];
const any = () => of(...people, ...others);
const word = (n) => "0x" + n.toString(16).padStart(64, "0");
let time = Math.floor(Date.now() / 1000) + 10_000;
let snapshots = [];
const sent = [];

// Each kind of step, by how often it is taken: method and parameters, or of each node.
const kinds = [
  [10, () => ["eth_sendTransaction", { from: of(...people, ...people, ...others), to: any(), value: hex(of(0n, 1n, ether / 1000n, ether)), gas: hex(of(21_000, 100_000, 200_000)), gasPrice: hex(10n ** 11n) }]],
  [2, () => [of("evm_mine", "anvil_mine", "hardhat_mine")]],
  [2, () => ["anvil_mine", hex(of(0, 1, 2, 3)), hex(of(1, 10))]],
  [3, () => ["evm_snapshot"]],
  [2, () => snapshots.length > 0 && ["evm_revert", of(...snapshots)]],
  [2, () => [of("evm_increaseTime", "anvil_increaseTime"), of(1, 100, hex(60))]],
  [2, () => ((time += of(5000, 100_000)), [of("evm_setNextBlockTimestamp", "anvil_setNextBlockTimestamp"), of(time, hex(time))])],
  [2, () => [of("anvil_setBalance", "hardhat_setBalance"), ...of([of(...people), hex(1000n * ether)], [of(...others), hex(of(0n, ether, 100n * ether))])]],
  [1, () => ["anvil_addBalance", any(), "0x5"]],
  [2, () => [of("anvil_setCode", "hardhat_setCode"), of(...others), of(...codes)]],
  [1, () => [of("anvil_setNonce", "hardhat_setNonce"), of(...people), hex(of(50, 100, 150))]],
  [1, () => [of("anvil_setStorageAt", "hardhat_setStorageAt"), of(...others), hex(of(0, 1)), word(of(0, 1, 99))]],
  [2, () => [of("evm_setAutomine", "anvil_setAutomine"), random() < 0.6]],
  [1, () => [of("anvil_getAutomine", "hardhat_getAutomine", "anvil_getIntervalMining")]],
  [2, () => [of("anvil_impersonateAccount", "hardhat_impersonateAccount"), of(...others)]],
  [1, () => [of("anvil_stopImpersonatingAccount", "hardhat_stopImpersonatingAccount"), of(...others)]],
  [1, () => [of("anvil_setNextBlockBaseFeePerGas", "hardhat_setNextBlockBaseFeePerGas"), hex(of(0, 1, 1e9, 1e10))]],
  [1, () => [of("anvil_setCoinbase", "hardhat_setCoinbase"), coinbase]],
  [1, () => sent.length > 0 && [of("anvil_dropTransaction", "hardhat_dropTransaction"), of(...sent)]],
  [1, () => ["anvil_dropAllTransactions"]],
  [1, () => ["anvil_removePoolTransactions", of(...people)]],
  [1, () => of(["anvil_setBlockTimestampInterval", of(1, 10)], ["anvil_removeBlockTimestampInterval"])],
  [1, () => ["anvil_autoImpersonateAccount", random() < 0.5]],
  [2, () => ["eth_call", { to: of(...others), from: of(...people) }, of("latest", "pending")]],
  [1, () => ["eth_estimateGas", { to: of(...others), from: of(...people) }]],
  [1, () => ["eth_accounts"]],
];
const ticket = kinds.flatMap(([n, kind]) => Array(n).fill(kind));
// An answer that is each node's own, such as a hash, is remembered as a pair; params has one node's.
const param = (v, i) => (v instanceof Array ? v[i] : v);

async function state(url) {
  const out = {};
  const ask = async (method, ...params) => (await post(url, method, params)).result;
  for (const tag of ["latest", "pending"]) {
    for (const account of [...people, ...others]) {
      out[`${tag} balance of ${account}`] = await ask("eth_getBalance", account, tag);
      if (people.includes(account)) out[`${tag} nonce of ${account}`] = await ask("eth_getTransactionCount", account, tag);
    }
    for (const account of others) {
      out[`${tag} code of ${account}`] = await ask("eth_getCode", account, tag);
      for (const slot of ["0x0", "0x1"]) out[`${tag} slot ${slot} of ${account}`] = await ask("eth_getStorageAt", account, slot, tag);
    }
  }
  const head = await ask("eth_getBlockByNumber", "latest", false);
  for (const member of ["number", "gasUsed", "gasLimit", "miner"]) out[member] = head[member];
  out.transactions = head.transactions.length;
  out.pool = JSON.stringify(await ask("txpool_status"));
  return out;
}

const taken = [];
function differ(...lines) {
  console.log([...taken.slice(-10), ...lines].join("\n"));
  process.exit(1);
}

for (let step = 0; step < Number(steps); step++) {
  const chosen = of(...ticket)();
  if (!chosen) continue;
  const [method, ...params] = chosen;
  if (/snapshot|revert|setNonce/.test(method)) await same("evm_mine"); // so that nothing waits
  const [x, y] = await both(method, [params.map((v) => param(v, 0)), params.map((v) => param(v, 1))]);
  taken.push(`${step}: ${method} ${JSON.stringify(params)}: A ${JSON.stringify(x.error ?? x.result).slice(0, 120)}, B ${JSON.stringify(y.error ?? y.result).slice(0, 120)}`);
  if (!x.error !== !y.error) differ("one of them refuses it");
  if (method === "evm_snapshot") snapshots.push([x.result, y.result]);
  if (method === "evm_revert") snapshots = snapshots.slice(0, snapshots.indexOf(params[0]));
  if (method === "eth_sendTransaction" && !x.error) sent.push([x.result, y.result]);
  const answer = (v) => JSON.stringify(method === "eth_accounts" ? v.toSorted() : v);
  if (/^eth_(call|accounts)|get|remove/.test(method) && !x.error && answer(x.result) !== answer(y.result)) differ("the answers differ");
  let ours, theirs, found;
  for (let tries = 0; tries < 40; tries++) { // anvil answers before its block is there
    [ours, theirs] = await Promise.all([state(a), state(b)]);
    found = Object.keys(ours).filter((k) => ours[k] !== theirs[k]);
    if (found.length === 0) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  if (found.length > 0) differ(...found.map((k) => `${k}: A ${ours[k]}, B ${theirs[k]}`));
}
const refused = taken.filter((t) => /: A {"code"/.test(t)).length;
console.log(`${taken.length} steps, ${refused} of them refused by both; the same state after each`);
agent.destroy();

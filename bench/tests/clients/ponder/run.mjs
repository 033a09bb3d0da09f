// Ponder indexes a chain from block 0, after more than 10,000 blocks, and follows it then: node run.mjs URL PORT.
// A development chain has them of transfers, and must keep all states. Exits with 1 when it does not have all events.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createTestClient, http, parseAbi, publicActions, walletActions } from "viem";
import { foundry } from "viem/chains";
import { abi as text, bytecode } from "./contract.mjs";

const [url, port] = process.argv.slice(2);
const abi = parseAbi(text);
const open = (id) => createTestClient({ mode: "anvil", chain: { ...foundry, id }, transport: http(url, { timeout: 120_000 }), cacheTime: 0, pollingInterval: 20 }).extend(publicActions).extend(walletActions);
const id = await open(foundry.id).getChainId();
const node = open(id);
const test = id === foundry.id;
const [account, other] = await node.getAddresses();
const receipt = async (hash) => node.waitForTransactionReceipt({ hash });
const { contractAddress: address } = await receipt(await node.deployContract({ account, abi, bytecode }));
const want = [];
const set = async (value) => {
  const { blockNumber } = await receipt(await node.writeContract({ account, address, abi, functionName: "set", args: [BigInt(value)] }));
  want.push([Number(blockNumber), value, value]);
};
const mine = async (blocks) => {
  if (test) return node.mine({ blocks });
  let until = await node.getBlockNumber();
  for (let nonce = await node.getTransactionCount({ address: other }); blocks > 0; blocks -= 100) {
    const calls = Array.from({ length: Math.min(blocks, 100) }, () => ({ jsonrpc: "2.0", id: nonce, method: "eth_sendTransaction", params: [
      { from: other, to: account, value: "0x1", gas: "0x5208", maxFeePerGas: "0x2540be400", maxPriorityFeePerGas: "0x1", nonce: "0x" + (nonce++).toString(16) }] }));
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(calls) });
    for (const { error } of await answer.json()) assert.equal(error, undefined);
    until += BigInt(calls.length); // an account may have 1,024 transactions that wait
    while ((await node.getBlockNumber()) < until) await new Promise((done) => setTimeout(done, 20));
  }
};
await set(1);
await mine(10_000);
await set(2);
await mine(300); // what Ponder takes for final lies behind

const ponder = spawn("node_modules/.bin/ponder", ["start", "--schema", "test", "--port", port, "--log-level", "warn"], {
  env: { ...process.env, URL: url, CHAIN: String(id), COUNTER: address, PONDER_TELEMETRY_DISABLED: "true" }, stdio: "inherit",
});
const ended = new Promise((_, no) => ponder.on("exit", (code) => no(new Error(`ponder ended with ${code}`))));
const read = async (path) => {
  for (let left = 1200; left > 0; left--) {
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`).catch(() => null);
    if (answer?.ok) return answer.text();
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("ponder does not answer");
};
const has = async (what) => {
  let got;
  for (let left = 1200; left > 0; left--) {
    if ((got = await read("changes")) === JSON.stringify(want)) return console.log(`ok   ponder: ${what}: ${got}`);
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.deepEqual(JSON.parse(got), want, what);
};
let code = 0;
try {
  await Promise.race([ended, (async () => {
    await read("ready");
    await has("events since block 0");
    const last = Number(await node.getBlockNumber());
    assert.deepEqual(JSON.parse(await read("thousands")), Array.from({ length: Math.floor(last / 1000) + 1 }, (_, i) => i * 1000));
    console.log("ok   ponder: every thousandth block");
    await set(3);
    await has("an event that comes now");
    if (!test) return;
    const id = await node.snapshot();
    await set(4);
    await has("an event before it is taken back");
    await node.revert({ id });
    want.pop();
    await set(5);
    await mine(1);
    await has("the event that took its place");
  })()]);
} catch (e) {
  console.log(`FAIL ponder: ${e.stack}`);
  code = 1;
}
ponder.removeAllListeners("exit");
const gone = new Promise((done) => ponder.on("exit", done));
if (ponder.exitCode === null && ponder.kill()) await gone;
process.exit(code);

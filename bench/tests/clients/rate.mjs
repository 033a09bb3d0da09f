// How many automined transfers two nodes take in a second, in turns: node rate.mjs A B [TURNS [EACH]].
// Each turn sends EACH signed transfers to a node, one after the other on one connection, each once the
// receipt of the one before is there. Prints a line for each turn, and the ratio A/B: the median of the
// pairs, and the interval that holds it with 95% confidence.
import http from "node:http";
import { HDNodeWallet } from "ethers";

const [a, b, turns = "12", each = "200"] = process.argv.slice(2);
const patience = 10_000; // milliseconds for a receipt
const wallet = HDNodeWallet.fromPhrase("test test test test test test test test test test test junk", undefined, "m/44'/60'/0'/0/5");
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const rpc = (url, method, ...params) => new Promise((done, failed) => {
  const request = http.request(url, { method: "POST", agent, headers: { "Content-Type": "application/json" } }, async (response) => {
    const chunks = await response.toArray();
    const { error, result } = JSON.parse(Buffer.concat(chunks));
    error ? failed(new Error(error.message)) : done(result);
  });
  request.on("error", failed);
  request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
});

async function turn(url) {
  const [chainId, first] = [Number(await rpc(url, "eth_chainId")), Number(await rpc(url, "eth_getTransactionCount", wallet.address, "latest"))];
  const raws = [];
  for (let nonce = first; nonce < first + Number(each); nonce++) {
    raws.push(await wallet.signTransaction({ type: 2, chainId, nonce, to: wallet.address, value: 1, gasLimit: 21_000, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1 }));
  }
  const before = performance.now();
  for (const raw of raws) {
    const hash = await rpc(url, "eth_sendRawTransaction", raw);
    const late = performance.now() + patience;
    while (!(await rpc(url, "eth_getTransactionReceipt", hash))) { // anvil answers before its block is there
      if (performance.now() > late) throw new Error(`${url} has no receipt of ${hash} after ${patience} ms: does it make a block for each transaction?`);
    }
  }
  return raws.length / ((performance.now() - before) / 1000);
}

await turn(a); // warm
await turn(b);
const ratios = [];
for (let i = 0; i < Number(turns); i++) {
  const [x, y] = i % 2 === 0 ? [await turn(a), await turn(b)] : [await turn(b), await turn(a)].reverse();
  ratios.push(x / y);
  console.log(`A ${x.toFixed(0)}/s, B ${y.toFixed(0)}/s, ratio ${(x / y).toFixed(2)}`);
}
ratios.sort((x, y) => x - y);
// The median lies between the kth value from below and from above with a probability that the
// binomial distribution gives.
const choose = (n, k) => (k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k);
let [k, tail] = [0, 0];
while ((tail += choose(ratios.length, k) / 2 ** ratios.length) <= 0.025) k++;
const median = (ratios[(ratios.length - 1) >> 1] + ratios[ratios.length >> 1]) / 2;
console.log(`ratio A/B ${median.toFixed(2)}${k > 0 ? `, 95%: ${ratios[k - 1].toFixed(2)} to ${ratios[ratios.length - k].toFixed(2)}` : ", too few turns for an interval"}`);
agent.destroy();

// A fork of one node on another, which is a test chain: node fork.mjs ORIGIN URL. Prints a line for each check,
// and exits with 1 when one failed.
import assert from "node:assert/strict";
import { ContractFactory, HDNodeWallet, JsonRpcProvider } from "ethers";
import { createTestClient, defineChain, http, parseAbi, publicActions, walletActions } from "viem";
import { abi, bytecode } from "./contract.mjs";

const [origin, url] = process.argv.slice(2);
let failed = 0;

async function check(what, does) {
  try {
    await does();
    console.log(`ok   ${what}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${what}: ${e.stack}`);
  }
}

const there = new JsonRpcProvider(origin, undefined, { cacheTimeout: -1, pollingInterval: 50 });
const wallet = HDNodeWallet.fromPhrase("test test test test test test test test test test test junk").connect(there);
const contract = await new ContractFactory(abi, bytecode, wallet).deploy();
await contract.waitForDeployment();
const deployed = await there.getBlockNumber();
const sent = await (await contract.set(7)).wait();

const chain = defineChain({ id: 31337, name: "test", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } });
const here = createTestClient({ mode: "anvil", chain, transport: http(url, { timeout: 60_000 }), cacheTime: 0, pollingInterval: 20 }).extend(publicActions).extend(walletActions);
const of = { address: await contract.getAddress(), abi: parseAbi(abi) };
const get = () => here.readContract({ ...of, functionName: "get" });
const set = async (account, v) => here.waitForTransactionReceipt({ hash: await here.writeContract({ ...of, account, functionName: "set", args: [v] }) });

await check("an older block", async () => {
  await here.reset({ jsonRpcUrl: origin, blockNumber: BigInt(deployed) });
  assert.equal(await here.getBlockNumber(), BigInt(deployed));
  assert.equal(await get(), 0n);
});
await check("the last block", async () => {
  await here.reset({ jsonRpcUrl: origin });
  assert.equal(await here.getBlockNumber(), BigInt(await there.getBlockNumber()));
  assert.equal(await get(), 7n);
});
await check("the origin's transactions, receipts and logs", async () => {
  const tx = await here.getTransaction({ hash: sent.hash });
  assert.deepEqual([tx.from, tx.blockHash], [wallet.address.toLowerCase(), sent.blockHash]);
  assert.equal((await here.getTransactionReceipt({ hash: sent.hash })).status, "success");
  assert.equal((await here.getLogs({ address: of.address, fromBlock: 0n })).length, 1);
});
await check("transactions, which the origin does not have", async () => {
  const [account] = await here.getAddresses();
  const receipt = await set(account, 9n);
  assert.equal(receipt.blockNumber, BigInt(sent.blockNumber) + 1n);
  assert.equal(await get(), 9n);
  assert.equal(await contract.get(), 7n);
  assert.equal((await here.getLogs({ address: of.address, fromBlock: 0n })).length, 2);
});
await check("a slot that is cleared, snapshots, and the state before", async () => {
  const [account] = await here.getAddresses();
  const id = await here.snapshot();
  await set(account, 0n);
  assert.equal(await get(), 0n);
  await here.revert({ id });
  assert.equal(await get(), 9n);
  assert.equal(await here.readContract({ ...of, functionName: "get", blockNumber: BigInt(sent.blockNumber) }), 7n);
  assert.equal(await here.readContract({ ...of, functionName: "get", blockNumber: BigInt(deployed) }), 0n);
});
await check("an account of the origin without its key", async () => {
  const address = wallet.address;
  await here.impersonateAccount({ address });
  await set(address, 11n);
  assert.equal(await get(), 11n);
});
there.destroy();
process.exit(failed > 0 ? 1 : 0);

// What viem's test client, in both of its modes, and ethers ask of a node for test suites: node
// testchain.mjs URL [MODE...]. Prints a line for each check, and exits with 1 when one failed.
import assert from "node:assert/strict";
import { JsonRpcProvider, parseEther as ether } from "ethers";
import { createTestClient, defineChain, http, parseEther, publicActions, walletActions } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

const [url, ...modes] = process.argv.slice(2);
let failed = 0;

const checks = (name) => async (what, does) => {
  try {
    await does();
    console.log(`ok   ${name}: ${what}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${what}: ${e.stack}`);
  }
};

const fresh = () => privateKeyToAddress(generatePrivateKey());

async function viem(mode) {
  const check = checks(`viem, ${mode}`);
  const chain = defineChain({ id: 31337, name: "test", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } });
  const node = createTestClient({ mode, chain, transport: http(url, { timeout: 60_000 }), cacheTime: 0, pollingInterval: 20 }).extend(publicActions).extend(walletActions);
  const [account, other] = await node.getAddresses();
  const send = (to, value = 1n) => node.sendTransaction({ account, to, value });
  const block = () => node.getBlock();

  await check("snapshot, revert", async () => {
    const [id, to, number] = [await node.snapshot(), fresh(), await node.getBlockNumber()];
    await send(to);
    await node.revert({ id });
    assert.equal(await node.getBalance({ address: to }), 0n);
    assert.equal(await node.getBlockNumber(), number);
  });
  await check("mine", async () => {
    const number = await node.getBlockNumber();
    await node.mine({ blocks: 5, interval: 60 });
    assert.equal(await node.getBlockNumber(), number + 5n);
  });
  await check("setBalance, setCode, setNonce, setStorageAt", async () => {
    const address = fresh();
    await node.setBalance({ address, value: parseEther("3") });
    await node.setCode({ address, bytecode: "0x5f545f5260205ff3" });
    await node.setNonce({ address, nonce: 9 });
    await node.setStorageAt({ address, index: 0, value: `0x${"0".repeat(62)}2a` });
    assert.equal(await node.getBalance({ address }), parseEther("3"));
    assert.equal(await node.getTransactionCount({ address }), 9);
    assert.equal(BigInt((await node.call({ to: address })).data), 42n);
  });
  await check("increaseTime, setNextBlockTimestamp", async () => {
    const { timestamp } = await block();
    await node.increaseTime({ seconds: 3600 });
    await node.mine({ blocks: 1 });
    assert.ok((await block()).timestamp >= timestamp + 3600n);
    await node.setNextBlockTimestamp({ timestamp: timestamp + 10_000n });
    await node.mine({ blocks: 1 });
    assert.equal((await block()).timestamp, timestamp + 10_000n);
  });
  await check("setAutomine, pool, dropTransaction", async () => {
    await node.setAutomine(false);
    const [to, number] = [fresh(), await node.getBlockNumber()];
    const hash = await send(to);
    const dropped = await send(fresh(), 2n);
    assert.deepEqual(await node.getTxpoolStatus(), { pending: 2, queued: 0 });
    assert.equal(Object.keys((await node.getTxpoolContent()).pending).length, 1);
    assert.ok(await node.inspectTxpool());
    assert.equal(await node.getBalance({ address: to, blockTag: "pending" }), 1n);
    await node.dropTransaction({ hash: dropped });
    assert.equal(await node.getBlockNumber(), number);
    await node.mine({ blocks: 1 });
    assert.equal((await node.getTransactionReceipt({ hash })).blockNumber, number + 1n);
    await node.setAutomine(true);
    if (mode === "anvil") assert.equal(await node.getAutomine(), true);
  });
  await check("impersonateAccount", async () => {
    const [address, to] = [fresh(), fresh()];
    await node.setBalance({ address, value: parseEther("1") });
    await node.impersonateAccount({ address });
    await node.sendTransaction({ account: address, to, value: 5n });
    await node.stopImpersonatingAccount({ address });
    assert.equal(await node.getBalance({ address: to }), 5n);
    await assert.rejects(node.sendTransaction({ account: address, to, value: 5n }));
  });
  await check("setNextBlockBaseFeePerGas, setCoinbase, setBlockGasLimit", async () => {
    const address = fresh();
    await node.setNextBlockBaseFeePerGas({ baseFeePerGas: 7_654_321n });
    await node.setCoinbase({ address });
    await node.setBlockGasLimit({ gasLimit: 29_000_000n });
    await node.mine({ blocks: 1 });
    const { baseFeePerGas, miner, gasLimit } = await block();
    assert.deepEqual([baseFeePerGas, miner, gasLimit], [7_654_321n, address.toLowerCase(), 29_000_000n]);
    await node.setBlockGasLimit({ gasLimit: 30_000_000n });
  });
  await check("waits for a receipt, and watches blocks", async () => {
    const seen = new Promise((done) => node.watchBlockNumber({ onBlockNumber: done }));
    assert.equal((await node.waitForTransactionReceipt({ hash: await send(other) })).status, "success");
    assert.ok((await seen) > 0n);
  });
  if (mode === "anvil") {
    await check("setIntervalMining, in seconds; Hardhat means milliseconds", async () => {
      const number = await node.getBlockNumber();
      await node.setIntervalMining({ interval: 1 });
      while ((await node.getBlockNumber()) === number) await new Promise((done) => setTimeout(done, 50));
      await node.setIntervalMining({ interval: 0 });
      await node.setAutomine(true);
    });
    await check("setBlockTimestampInterval, dumpState, loadState, setLoggingEnabled, setMinGasPrice", async () => {
      await node.setBlockTimestampInterval({ interval: 5 });
      const { timestamp } = await block();
      await node.mine({ blocks: 1 });
      assert.equal((await block()).timestamp, timestamp + 5n);
      await node.removeBlockTimestampInterval();
      const state = await node.dumpState();
      const [id, to] = [await node.snapshot(), fresh()];
      await send(to);
      await node.revert({ id });
      await node.loadState({ state });
      await node.setLoggingEnabled(false);
      await assert.rejects(node.setMinGasPrice({ gasPrice: 1n }), /EIP-1559/);
    });
    await check("sendUnsignedTransaction", async () => {
      const [from, to] = [fresh(), fresh()];
      await node.setBalance({ address: from, value: parseEther("1") });
      await node.sendUnsignedTransaction({ from, to, value: 4n });
      assert.equal(await node.getBalance({ address: to }), 4n);
    });
    await check("reset", async () => {
      await node.reset();
      assert.equal(await node.getBlockNumber(), 0n);
    });
  }
}

// ethers has no test client: people use its signers by address, and send() for the rest.
async function ethers() {
  const check = checks("ethers");
  const node = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 20 });
  await check("accounts in the node, snapshots and time", async () => {
    const [signer, to] = [await node.getSigner(0), fresh()];
    const id = await node.send("evm_snapshot", []);
    await (await signer.sendTransaction({ to, value: ether("2") })).wait();
    assert.equal(await node.getBalance(to), ether("2"));
    await node.send("evm_increaseTime", [86_400]);
    await node.send("evm_mine", []);
    assert.ok(await node.send("evm_revert", [id]));
    assert.equal(await node.getBalance(to), 0n);
  });
  await check("a signer without a key", async () => {
    const [address, to] = [fresh(), fresh()];
    await node.send("hardhat_setBalance", [address, "0xde0b6b3a7640000"]);
    await node.send("hardhat_impersonateAccount", [address]);
    await (await (await node.getSigner(address)).sendTransaction({ to, value: 1n })).wait();
    assert.equal(await node.getBalance(to), 1n);
  });
  node.destroy();
}

for (const mode of modes.length > 0 ? modes : ["anvil", "hardhat"]) await viem(mode);
await ethers();
process.exit(failed > 0 ? 1 : 0);

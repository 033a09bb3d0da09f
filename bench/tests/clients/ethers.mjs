// What ethers 6 does with a node of the development chain. It sends calls in arrays, as it does
// unless it is asked not to.
import assert from "node:assert/strict";
import { Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, NonceManager, WebSocketProvider, isError, parseEther } from "ethers";
import { abi, bytecode, until } from "./contract.mjs";

const phrase = "test test test test test test test test test test test junk";

// ethers removes a filter in the background: that may be under way when the provider is destroyed.
process.on("unhandledRejection", (e) => {
  if (e?.operation !== "eth_uninstallFilter") throw e;
});

export async function run(url, check) {
  const node = new JsonRpcProvider(url, undefined, { pollingInterval: 50 });
  const socket = new WebSocketProvider(url.replace(/^http/, "ws"));
  const wallet = new NonceManager(HDNodeWallet.fromPhrase(phrase, undefined, "m/44'/60'/0'/0/1").connect(node));
  const to = HDNodeWallet.createRandom().address;
  const priced = { gasLimit: 21000, maxFeePerGas: 2n * 10n ** 9n, maxPriorityFeePerGas: 1n }; // so that nothing is estimated
  let contract, set;
  try {
    await check("chain", async () => assert.equal((await node.getNetwork()).chainId, 1337n));
    await check("transfer", async () => {
      const sent = await wallet.sendTransaction({ to, value: parseEther("1"), ...priced });
      const receipt = await sent.wait();
      assert.equal(receipt.status, 1);
      assert.equal(receipt.gasUsed, 21000n);
      assert.equal(await node.getBalance(to), parseEther("1"));
      const block = await node.getBlock(receipt.blockNumber, true);
      assert.equal(block.hash, receipt.blockHash);
      assert.equal(block.prefetchedTransactions[receipt.index].hash, sent.hash);
    });
    await check("fees", async () => {
      const fees = await node.getFeeData();
      assert.ok(fees.gasPrice >= 0n && fees.maxFeePerGas >= fees.maxPriorityFeePerGas);
    });
    await check("deploy", async () => {
      contract = await new ContractFactory(abi, bytecode, wallet).deploy();
      await contract.waitForDeployment();
      assert.ok((await node.getCode(await contract.getAddress())).length > 100);
    });
    await check("estimate", async () => {
      const gasLimit = await contract.set.estimateGas(6);
      const receipt = await (await contract.set(6, { gasLimit })).wait(); // it is enough, and not much more than that
      assert.ok(receipt.gasUsed <= gasLimit && gasLimit < (receipt.gasUsed * 5n) / 4n, `${gasLimit} for ${receipt.gasUsed}`);
    });
    await check("transact and call", async () => {
      set = await (await contract.set(7)).wait();
      assert.equal(await contract.get(), 7n);
      assert.equal(set.logs.length, 1);
    });
    await check("logs", async () => {
      const logs = await contract.queryFilter(contract.filters.Set(await wallet.getAddress()), set.blockNumber, "latest");
      assert.deepEqual(logs.map((l) => l.args.value), [7n]);
    });
    await check("revert of a call", async () => {
      await assert.rejects(contract.fail.staticCall(), (e) => isError(e, "CALL_EXCEPTION") && e.reason === "no");
      await assert.rejects(contract.fail.estimateGas(), (e) => isError(e, "CALL_EXCEPTION") && e.reason === "no");
    });
    await check("revert of a transaction", async () => {
      const sent = await contract.fail({ gasLimit: 100000 });
      await assert.rejects(sent.wait(), (e) => isError(e, "CALL_EXCEPTION") && e.receipt.status === 0);
    });
    await check("refusal", async () => {
      const poor = HDNodeWallet.createRandom().connect(node);
      await assert.rejects(poor.sendTransaction({ to, value: 1n, ...priced }), (e) => isError(e, "INSUFFICIENT_FUNDS"));
    });
    await check("every type", async () => {
      const accessList = [{ address: await contract.getAddress(), storageKeys: ["0x" + "0".repeat(64)] }];
      const authorization = await HDNodeWallet.createRandom().authorize({ address: await contract.getAddress(), nonce: 0, chainId: 1337 });
      for (const tx of [{ type: 0 }, { type: 1, accessList }, { type: 2, accessList }, { type: 4, authorizationList: [authorization] }]) {
        const sent = await wallet.sendTransaction({ to, value: 1n, gasLimit: 100000, ...tx });
        assert.equal((await sent.wait()).status, 1);
        assert.equal((await node.getTransaction(sent.hash)).type, tx.type);
      }
    });
    await check("no such method", async () => {
      await assert.rejects(node.send("eth_noSuchMethod", []), (e) => isError(e, "UNSUPPORTED_OPERATION") && e.info.error.message === "the method eth_noSuchMethod does not exist/is not available");
    });
    await check("trace", async () => {
      const trace = await node.send("debug_traceTransaction", [set.hash, { tracer: "callTracer" }]);
      assert.equal(trace.type, "CALL");
      assert.equal(BigInt(trace.gasUsed), set.gasUsed);
      const steps = await node.send("debug_traceTransaction", [set.hash, {}]);
      assert.ok(steps.structLogs.some((s) => s.op === "SSTORE") && !steps.failed);
    });
    await check("subscribe to heads", async () => {
      const seen = new Promise((done) => socket.once("block", done));
      await socket.getBlockNumber(); // the subscription was sent before it
      const receipt = await (await wallet.sendTransaction({ to, value: 1n, ...priced })).wait();
      assert.ok((await seen) <= receipt.blockNumber);
    });
    await check("subscribe to logs", async () => {
      const listening = new Contract(await contract.getAddress(), abi, socket);
      const seen = new Promise((done) => listening.once("Set", (by, value) => done(value)));
      assert.equal(await until(seen, async () => (await contract.set(8)).wait()), 8n);
    });
    await check("filters", async () => {
      const seen = new Promise((done) => contract.once("Set", (by, value) => done(value)));
      assert.equal(await until(seen, async () => (await contract.set(9)).wait()), 9n);
    });
  } finally {
    node.destroy();
    await socket.destroy();
  }
}

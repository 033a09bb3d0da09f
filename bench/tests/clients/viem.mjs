// What viem 2 does with a node of the development chain, over HTTP in arrays and over WebSocket.
import assert from "node:assert/strict";
import { BaseError, ContractFunctionRevertedError, MethodNotFoundRpcError, createPublicClient, createWalletClient, defineChain, http, parseAbi, parseEther, webSocket } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { abi as text, bytecode, until } from "./contract.mjs";

const abi = parseAbi(text);

export async function run(url, check) {
  const account = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex: 2 });
  const chain = defineChain({ id: 1337, name: "development", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } });
  const node = createPublicClient({ chain, transport: http(url, { batch: true }), pollingInterval: 50, cacheTime: 0 });
  const socket = createPublicClient({ chain, transport: webSocket(url.replace(/^http/, "ws")) });
  const wallet = createWalletClient({ account, chain, transport: http(url) });
  const to = privateKeyToAddress(generatePrivateKey());
  const priced = { gas: 21000n, maxFeePerGas: 2n * 10n ** 9n, maxPriorityFeePerGas: 1n }; // so that nothing is estimated
  const mined = async (hash) => node.waitForTransactionReceipt({ hash });
  let address, set;
  const write = async (functionName, args) => mined(await wallet.writeContract({ address, abi, functionName, args }));
  const reverts = (e) => e instanceof BaseError && e.walk((c) => c instanceof ContractFunctionRevertedError)?.reason === "no";
  try {
    await check("chain", async () => assert.equal(await node.getChainId(), 1337));
    await check("transfer", async () => {
      const receipt = await mined(await wallet.sendTransaction({ to, value: parseEther("1"), ...priced }));
      assert.equal(receipt.status, "success");
      assert.equal(await node.getBalance({ address: to }), parseEther("1"));
      const block = await node.getBlock({ blockHash: receipt.blockHash, includeTransactions: true });
      assert.equal(block.transactions[receipt.transactionIndex].hash, receipt.transactionHash);
    });
    await check("array", async () => {
      const [number, balance, nonce] = await Promise.all([node.getBlockNumber(), node.getBalance({ address: to }), node.getTransactionCount({ address: account.address })]);
      assert.ok(number >= 1n && balance === parseEther("1") && nonce >= 1);
    });
    await check("deploy", async () => {
      const receipt = await mined(await wallet.deployContract({ abi, bytecode }));
      address = receipt.contractAddress;
      assert.ok((await node.getCode({ address })).length > 100);
    });
    await check("estimate", async () => {
      const call = { address, abi, functionName: "set", args: [6n], account };
      const gas = await node.estimateContractGas(call);
      const { status, gasUsed } = await mined(await wallet.writeContract({ ...call, gas })); // it is enough, and not much more than that
      assert.ok(status === "success" && gasUsed <= gas && gas < (gasUsed * 5n) / 4n, `${gas} for ${gasUsed}`);
    });
    await check("transact and call", async () => {
      set = await write("set", [7n]);
      assert.equal(set.status, "success");
      assert.equal(await node.readContract({ address, abi, functionName: "get" }), 7n);
    });
    await check("logs", async () => {
      const logs = await node.getContractEvents({ address, abi, eventName: "Set", args: { by: account.address }, fromBlock: set.blockNumber });
      assert.deepEqual(logs.map((l) => l.args.value), [7n]);
    });
    await check("revert", async () => assert.rejects(node.simulateContract({ address, abi, functionName: "fail", account }), reverts));
    await check("state override", async () => {
      const other = "0x00000000000000000000000000000000000c0de0";
      const code = await node.getCode({ address });
      const slot = { slot: `0x${"0".repeat(64)}`, value: `0x${"0".repeat(62)}2a` };
      assert.equal(await node.readContract({ address: other, abi, functionName: "get", stateOverride: [{ address: other, code, stateDiff: [slot] }] }), 42n);
    });
    await check("every type", async () => {
      const accessList = [{ address, storageKeys: [`0x${"0".repeat(64)}`] }];
      const other = privateKeyToAccount(generatePrivateKey());
      const authorizationList = [await other.signAuthorization({ contractAddress: address, chainId: 1337, nonce: 0 })];
      for (const tx of [{ type: "legacy" }, { type: "eip2930", accessList }, { type: "eip1559", accessList }, { type: "eip7702", authorizationList }]) {
        const receipt = await mined(await wallet.sendTransaction({ to, value: 1n, ...tx }));
        assert.equal(receipt.status, "success");
        assert.equal(receipt.type, tx.type);
      }
      assert.equal(await node.getCode({ address: other.address }), `0xef0100${address.slice(2).toLowerCase()}`);
    });
    await check("no such method", async () => assert.rejects(node.request({ method: "evm_mine" }), (e) => e instanceof MethodNotFoundRpcError));
    await check("fee history", async () => {
      const fees = await node.getFeeHistory({ blockCount: 2, rewardPercentiles: [50] });
      assert.equal(fees.gasUsedRatio.length, fees.reward.length);
      assert.equal(fees.baseFeePerGas.length, fees.gasUsedRatio.length + 1); // the next block's, too
    });
    await check("storage", async () => assert.equal(BigInt(await node.getStorageAt({ address, slot: "0x0" })), 7n));
    await check("trace", async () => {
      const trace = await node.request({ method: "debug_traceTransaction", params: [set.transactionHash, { tracer: "callTracer" }] });
      assert.equal(trace.type, "CALL");
      assert.equal(trace.to, address.toLowerCase());
    });
    await check("subscribe to heads", async () => {
      const { subscribed, seen, end } = await subscription((onData) => socket.transport.subscribe({ params: ["newHeads"], onData, onError: () => {} }));
      await subscribed;
      const receipt = await mined(await wallet.sendTransaction({ to, value: 1n, ...priced }));
      assert.ok(BigInt((await seen).result.number) <= receipt.blockNumber);
      await end();
    });
    await check("subscribe to logs", async () => {
      const { subscribed, seen, end } = await subscription((onData) => socket.transport.subscribe({ params: ["logs", { address }], onData, onError: () => {} }));
      await subscribed;
      await write("set", [8n]);
      assert.equal(BigInt((await seen).result.data), 8n);
      await end();
    });
    await check("watch a contract", async () => {
      for (const client of [node, socket]) { // with a filter that is polled, and with a subscription
        let end;
        const seen = new Promise((done, failed) => {
          end = client.watchContractEvent({ address, abi, eventName: "Set", onLogs: (logs) => logs.forEach((l) => done(l.args.value)), onError: failed });
        });
        assert.equal(await until(seen, () => write("set", [10n])), 10n);
        end();
      }
    });
    await check("filter", async () => {
      const filter = await node.createContractEventFilter({ address, abi, eventName: "Set" });
      await write("set", [9n]);
      assert.deepEqual((await node.getFilterChanges({ filter })).map((l) => l.args.value), [9n]);
      assert.equal(await node.uninstallFilter({ filter }), true);
    });
  } finally {
    (await socket.transport.getRpcClient()).close();
  }
}

// subscription starts one, and returns what says that it was made, its first event, and its end.
async function subscription(start) {
  let first;
  const seen = new Promise((done) => (first = done));
  const made = start(first);
  return { subscribed: made, seen, end: async () => (await made).unsubscribe() };
}

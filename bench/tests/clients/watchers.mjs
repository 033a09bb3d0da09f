// What watches a chain: viem's watchers and ethers' listeners, over HTTP and WebSocket, confirmations, and
// accounts with code (EIP-7702). node watchers.mjs URL, of a node that makes empty blocks (block_idle), or
// confirmations never come. Prints a line for each check, and exits with 1 when one failed.
import assert from "node:assert/strict";
import { Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, WebSocketProvider } from "ethers";
import { createPublicClient, createWalletClient, encodeFunctionData, http, parseAbi, webSocket } from "viem";
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { abi, bytecode } from "./contract.mjs";

const patience = 120_000; // milliseconds for a check; reached only when it fails
const [url] = process.argv.slice(2);
const mnemonic = "test test test test test test test test test test test junk";
const pollingInterval = 50;
let failed = 0;

async function check(what, does) {
  let late;
  try {
    await Promise.race([does(), new Promise((_, no) => (late = setTimeout(() => no(new Error(`nothing after ${patience} ms`)), patience)))]);
    console.log(`ok   ${what}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${what}: ${e.stack}`);
  } finally {
    clearTimeout(late);
  }
}

// seen resolves with what a watcher passes on and is right; begin gets a function that takes it, and
// returns what ends the watcher. make makes what it must see, again and again: a watcher may begin late.
async function seen(begin, right, make) {
  let found, failed, end;
  const take = (...v) => right(...v) && (found ??= { v: v[0] });
  end = begin(take, (e) => (failed = e));
  while (!found) {
    if (failed) throw failed;
    await make?.();
    await new Promise((done) => setTimeout(done, 2 * pollingInterval));
  }
  (await end)?.();
  return found.v;
}

async function viem(name, transport) {
  const account = mnemonicToAccount(mnemonic, { addressIndex: 6 });
  const node = createPublicClient({ transport, pollingInterval, cacheTime: 0 });
  const chainId = await node.getChainId();
  const chain = { id: chainId, name: "chain", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } };
  const wallet = createWalletClient({ account, chain, transport: http(url) });
  const contract = { address: (await node.waitForTransactionReceipt({ hash: await wallet.deployContract({ abi: parseAbi(abi), bytecode }) })).contractAddress, abi: parseAbi(abi) };
  const set = (v) => wallet.writeContract({ ...contract, functionName: "set", args: [v] });
  const send = () => wallet.sendTransaction({ to: account.address, value: 1n });
  const hashes = new Set(); // of what was sent; an answer with a hash may come after the event
  const make = async (sent) => hashes.add(await sent);
  const known = (passed) => (all) => (all.forEach((hash) => passed.add(hash)), [...passed].some((hash) => hashes.has(hash)));

  await check(`${name}: watchBlocks`, async () => {
    const right = known(new Set());
    await seen((ok, onError) => node.watchBlocks({ onBlock: ok, onError, includeTransactions: true, emitMissed: true }), (b) => right(b.transactions.map((t) => t.hash)), () => make(send()));
  });
  await check(`${name}: watchBlockNumber sees empty blocks`, async () => {
    const first = await node.getBlockNumber();
    await seen((onBlockNumber, onError) => node.watchBlockNumber({ onBlockNumber, onError }), (n) => n > first + 2n);
  });
  await check(`${name}: watchPendingTransactions`, () => seen((ok, onError) => node.watchPendingTransactions({ onTransactions: ok, onError }), known(new Set()), () => make(send())));
  await check(`${name}: watchContractEvent`, async () => {
    const right = known(new Set());
    await seen(
      (ok, onError) => node.watchContractEvent({ ...contract, eventName: "Set", args: { by: account.address }, onLogs: ok, onError }),
      (all) => right(all.map((l) => l.transactionHash)),
      () => make(set(7n)),
    );
  });
  await check(`${name}: three confirmations`, async () => {
    const { blockNumber } = await node.waitForTransactionReceipt({ hash: await send(), confirmations: 3 });
    assert.ok((await node.getBlockNumber()) >= blockNumber + 2n);
  });
  await check(`${name}: an account with code`, async () => {
    const eoa = privateKeyToAccount(generatePrivateKey());
    const authorization = await createWalletClient({ account: eoa, chain, transport: http(url) }).signAuthorization({ contractAddress: contract.address });
    const { status, logs, type } = await node.waitForTransactionReceipt({
      hash: await wallet.sendTransaction({ to: eoa.address, data: encodeFunctionData({ ...contract, functionName: "set", args: [9n] }), authorizationList: [authorization] }),
    });
    assert.ok(status === "success" && type === "eip7702" && logs[0].address === eoa.address.toLowerCase());
    assert.equal((await node.getCode({ address: eoa.address })).toLowerCase(), "0xef0100" + contract.address.slice(2).toLowerCase());
    assert.equal(await node.readContract({ ...contract, address: eoa.address, functionName: "get" }), 9n);
  });
  const client = name.endsWith("WebSocket") && (await node.transport.getRpcClient());
  client?.close?.();
}

async function ethers(name, provider) {
  const wallet = HDNodeWallet.fromPhrase(mnemonic, undefined, "m/44'/60'/0'/0/7").connect(new JsonRpcProvider(url, undefined, { pollingInterval, cacheTimeout: -1 }));
  const contract = await new ContractFactory(abi, bytecode, wallet).deploy();
  await contract.waitForDeployment();
  const address = await contract.getAddress();
  const listen = (event) => (ok) => {
    provider.on(event, ok);
    return () => provider.off(event, ok);
  };
  const hashes = new Set();
  const passed = new Set();
  const known = (hash) => (passed.add(hash), [...passed].some((h) => hashes.has(h)));
  const make = async (sent) => hashes.add((await (await sent).wait()).hash);

  await check(`${name}: block`, async () => {
    const first = await provider.getBlockNumber();
    await seen(listen("block"), (n) => n > first + 2);
  });
  await check(`${name}: pending`, () => seen(listen("pending"), known, () => make(wallet.sendTransaction({ to: wallet.address, value: 1 }))));
  await check(`${name}: an event`, async () => {
    const watched = new Contract(address, abi, provider);
    const begin = (ok) => {
      watched.on("Set", ok);
      return () => watched.removeAllListeners();
    };
    await seen(begin, (_, value) => value === 5n, () => make(contract.set(5)));
  });
  await check(`${name}: three confirmations`, async () => {
    const receipt = await (await wallet.sendTransaction({ to: wallet.address, value: 1 })).wait(3);
    assert.ok((await receipt.confirmations()) >= 3);
  });
  await check(`${name}: an account with code`, async () => {
    const eoa = HDNodeWallet.createRandom().connect(provider);
    const auth = await eoa.authorize({ address });
    const tx = await wallet.sendTransaction({ type: 4, to: eoa.address, data: contract.interface.encodeFunctionData("set", [3]), authorizationList: [auth] });
    const receipt = await tx.wait();
    assert.ok(receipt.status === 1 && receipt.type === 4 && receipt.logs[0].address === eoa.address);
    assert.equal(await new Contract(eoa.address, abi, provider).get(), 3n);
  });
  provider.destroy();
  wallet.provider.destroy();
}

await viem("viem over HTTP", http(url));
await viem("viem over WebSocket", webSocket(url.replace(/^http/, "ws")));
await ethers("ethers over HTTP", new JsonRpcProvider(url, undefined, { pollingInterval, cacheTimeout: -1 }));
await ethers("ethers over WebSocket", new WebSocketProvider(url.replace(/^http/, "ws")));
process.exit(failed > 0 ? 1 : 0);

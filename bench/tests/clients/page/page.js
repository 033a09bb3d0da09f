// A page with a wallet: viem over the EIP-1193 provider of headless-web3-provider, which stands for a
// wallet's extension in tests of pages. It has keys, asks the user, and calls the node from the page.
import { makeHeadlessWeb3Provider } from "headless-web3-provider";
import { createPublicClient, createWalletClient, custom, defineChain, http, parseAbi } from "viem";
import { abi as text, bytecode, until } from "./contract.mjs";

const abi = parseAbi(text);
const key = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"; // the second of the development accounts
const done = [];

async function run({ url, id }) {
  const wallet = makeHeadlessWeb3Provider([key], id, url);
  const user = setInterval(() => wallet.authorizeAll(), 20); // agrees to everything
  window.ethereum = wallet;
  try {
    const chain = defineChain({ id, name: "chain", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } });
    const client = createWalletClient({ chain, transport: custom(window.ethereum) });
    const [account] = await client.requestAddresses();
    done.push("connects");
    if ((await client.getChainId()) !== id) throw new Error("another chain");
    await client.switchChain({ id });
    done.push("switches to the chain");
    const node = createPublicClient({ chain, transport: http(url), pollingInterval: 20 });
    const mined = async (hash) => {
      const receipt = await node.waitForTransactionReceipt({ hash });
      if (receipt.status !== "success") throw new Error(`${hash} failed`);
      return receipt;
    };
    await mined(await client.sendTransaction({ account, to: account, value: 1n }));
    done.push("sends");
    const { contractAddress: address } = await mined(await client.deployContract({ account, abi, bytecode }));
    await mined(await client.writeContract({ account, address, abi, functionName: "set", args: [7n] }));
    if ((await node.readContract({ address, abi, functionName: "get" })) !== 7n) throw new Error("the contract has another number");
    done.push("deploys and calls a contract");
    const seen = new Promise((see) => node.watchContractEvent({ address, abi, eventName: "Set", onLogs: see }));
    const logs = await until(seen, async () => mined(await client.writeContract({ account, address, abi, functionName: "set", args: [8n] })));
    if (logs[0].args.value !== 8n) throw new Error("another event");
    done.push("watches events");
    return { done };
  } catch (e) {
    return { done, failed: String(e.stack ?? e) };
  } finally {
    clearInterval(user);
  }
}

run(window.node).then((said) => (window.said = JSON.stringify(said)));

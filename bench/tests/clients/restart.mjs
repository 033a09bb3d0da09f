// A viem client over WebSocket whose node is killed and started again: node restart.mjs URL. It prints
// "watching" when it has seen a block, and exits with 0 when it has seen one after the socket broke.
// A restart can be over between two transfers, so the socket says that there was one.
import { createPublicClient, createWalletClient, webSocket, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";

const url = process.argv[2];
const account = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex: 3 });
const transport = webSocket(url.replace(/^http/, "ws"), { reconnect: { attempts: 1000, delay: 100 }, keepAlive: { interval: 100 } });
const node = createPublicClient({ transport });
const wallet = createWalletClient({ account, transport: http(url, { retryCount: 0 }) });
const chain = { id: 1337, name: "development", nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 }, rpcUrls: { default: { http: [url] } } };

setTimeout(() => {
  console.log("no block after the restart, for five minutes");
  process.exit(1);
}, 300_000);
let broken = false;
let watching = false;
node.watchBlockNumber({
  onBlockNumber: (number) => {
    if (!watching) console.log("watching");
    watching = true;
    if (!broken) return;
    console.log(`block ${number} after the restart`);
    process.exit(0);
  },
  onError: () => (broken = watching), // viem connects again
});
for (;;) { // blocks, as long as there is a node
  try {
    await wallet.sendTransaction({ chain, to: account.address, value: 1n });
  } catch {
    // the node is down; the next transfer may find it
  }
  await new Promise((done) => setTimeout(done, 100));
}

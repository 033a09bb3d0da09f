import { createConfig } from "ponder";
import { abi } from "./abi";

export default createConfig({
  ordering: "multichain",
  database: { kind: "pglite" },
  chains: { chaind: { id: Number(process.env.CHAIN), rpc: process.env.URL!, ws: process.env.URL!.replace("http", "ws"), pollingInterval: 100 } },
  contracts: { Counter: { chain: "chaind", abi, address: process.env.COUNTER as `0x${string}`, startBlock: 0 } },
  blocks: { Thousand: { chain: "chaind", startBlock: 0, interval: 1000 } },
});

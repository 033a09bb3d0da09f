// A project whose only setting of the network is the node's URL. The compiler is npm's, since Hardhat's
// own download needs another server.
import { createRequire } from "node:module";
import { defineConfig } from "hardhat/config";
import toolbox from "@nomicfoundation/hardhat-toolbox-mocha-ethers";

const solc = createRequire(import.meta.url).resolve("solc/soljson.js");

export default defineConfig({
  plugins: [toolbox],
  solidity: { version: "0.8.28", path: solc, settings: { optimizer: { enabled: true }, evmVersion: "cancun" } },
  test: { mocha: { timeout: 120_000 } },
  networks: { chain: { type: "http", url: process.env.URL ?? "http://127.0.0.1:8545" } },
});

// A project whose only setting of the network is the node's URL. The compiler is npm's, since Hardhat's
// own download needs another server.
require("@nomicfoundation/hardhat-ethers");
require("@nomicfoundation/hardhat-chai-matchers");
const { subtask } = require("hardhat/config");
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require("hardhat/builtin-tasks/task-names");

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({ compilerPath: require.resolve("solc/soljson.js"), isSolcJs: true, version: "0.8.28", longVersion: "0.8.28" }));

module.exports = {
  solidity: { version: "0.8.28", settings: { optimizer: { enabled: true }, evmVersion: "cancun" } },
  mocha: { timeout: 120_000 },
  defaultNetwork: "node",
  networks: { node: { url: process.env.URL ?? "http://127.0.0.1:8545" } },
};

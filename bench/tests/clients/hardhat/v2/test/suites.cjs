const { ethers } = require("hardhat");
const helpers = require("@nomicfoundation/hardhat-network-helpers");

require("../suites.cjs")(async () => ({ ethers, helpers, first: [] }));

it("begins again", async () => {
  await helpers.reset();
  if ((await helpers.time.latestBlock()) !== 0) throw new Error("there are blocks");
});

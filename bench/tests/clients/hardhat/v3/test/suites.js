import { network } from "hardhat";
import suites from "../suites.cjs";

suites(async () => {
  const { ethers, networkHelpers } = await network.getOrCreate("chain");
  return { ethers, helpers: networkHelpers, first: [ethers] };
});

// Of the contract in ../contract.mjs.
export const abi = [
  { type: "event", name: "Set", inputs: [{ name: "by", type: "address", indexed: true }, { name: "value", type: "uint256" }] },
  { type: "function", name: "get", inputs: [], outputs: [{ type: "uint256" }], stateMutability: "view" },
] as const;

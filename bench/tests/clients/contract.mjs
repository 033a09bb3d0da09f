// The contract that the clients use, assembled by hand so that no compiler is needed:
//
//   event Set(address indexed by, uint256 value);
//   function set(uint256 v)  { slot 0 = v; emit Set(msg.sender, v); }
//   function get() returns (uint256)
//   function fail()  { revert("no"); }
import { id } from "ethers";

export const abi = [
  "event Set(address indexed by, uint256 value)",
  "function set(uint256 v)",
  "function get() view returns (uint256)",
  "function fail()",
];

// selector compares the call's function, on top of the stack, and jumps to a place.
const selector = (signature, place) => `8063${id(signature).slice(2, 10)}1461${place}57`;

const runtime = [
  "60003560e01c", // the first four bytes of the call
  selector("set(uint256)", "002b"), selector("get()", "005e"), selector("fail()", "006a"),
  "600080fd", // any other function reverts
  "5b", "600435", "80600055", "600052", "33", "7f" + id("Set(address,uint256)").slice(2), "60206000", "a2", "00", // set
  "5b", "600054", "600052", "60206000", "f3", // get
  "5b", "6308c379a060e01b600052", "6020600452", "6002602452", "61", "6e6f", "60f01b604452", "60646000fd", // fail: Error("no")
].join("");

// bytecode copies the runtime into memory and returns it.
export const bytecode = "0x60" + (runtime.length / 2).toString(16) + "80600b6000396000f3" + runtime;

// until sends again and again until what a client has subscribed to is seen: clients subscribe in the
// background, and what is sent before that they do not see.
export async function until(seen, send) {
  let there = false;
  seen.then(() => (there = true), () => (there = true));
  while (!there) {
    await send();
    await new Promise((done) => setTimeout(done, 100));
  }
  return seen;
}

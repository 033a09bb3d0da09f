#!/usr/bin/env node
// npm's compiler with as much of the native one's command line as forge uses.
const solc = require("solc");

if (process.argv.includes("--version")) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version().replace(/\.Emscripten.*/, ".Linux.g++")}`);
} else {
  process.stdout.write(solc.compile(require("fs").readFileSync(0, "utf8")));
}

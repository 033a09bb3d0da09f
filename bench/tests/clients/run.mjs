// Runs the clients against a node: node run.mjs URL [CHECK...]. Without names of checks it runs all.
// Prints a line for each check, and exits with 1 when one failed.
import * as ethers from "./ethers.mjs";
import * as viem from "./viem.mjs";

const patience = 120_000; // milliseconds for a check; reached only when it fails
const [url, ...only] = process.argv.slice(2);
let failed = 0;

for (const [name, client] of Object.entries({ ethers, viem })) {
  const check = async (what, does) => {
    if (only.length > 0 && !only.includes(what)) return;
    let late;
    try {
      await Promise.race([does(), new Promise((_, no) => (late = setTimeout(() => no(new Error(`nothing after ${patience} ms`)), patience)))]);
      console.log(`ok   ${name}: ${what}`);
    } catch (e) {
      failed++;
      console.log(`FAIL ${name}: ${what}: ${e.stack}`);
    } finally {
      clearTimeout(late);
    }
  };
  await client.run(url, check).catch((e) => {
    failed++;
    console.log(`FAIL ${name}: ${e.stack}`);
  });
}
process.exit(failed > 0 ? 1 : 0);

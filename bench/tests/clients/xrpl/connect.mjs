// Each release line of xrpl.js connects to "ledgersync serve", whose address is the argument, learns the
// network's id, and reads a ledger and a transaction of it.
const [address, network] = process.argv.slice(2);
for (const line of ["xrpl2", "xrpl3", "xrpl4", "xrpl5", "xrpl500"]) {
  const { Client } = (await import(line)).default;
  const client = new Client(address);
  await client.connect();
  const { ledger } = (await client.request({ command: "ledger", ledger_index: "validated", transactions: true })).result;
  const tx = (await client.request({ command: "tx", transaction: ledger.transactions[0] })).result;
  if (client.networkID !== Number(network) || !(await client.getLedgerIndex()) || !tx.validated || tx.hash !== ledger.transactions[0]) {
    throw new Error(`${line}: network ${client.networkID}, ${JSON.stringify(tx)}`);
  }
  console.log(line, "connected, network", client.networkID, "build", client.buildVersion);
  await client.disconnect();
}

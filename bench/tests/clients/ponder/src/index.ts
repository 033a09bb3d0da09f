import { ponder } from "ponder:registry";
import { change, thousand } from "ponder:schema";

ponder.on("Counter:Set", async ({ event, context }) => {
  const { Counter } = context.contracts;
  const read = await context.client.readContract({ abi: Counter.abi, address: Counter.address, functionName: "get" });
  await context.db.insert(change).values({ id: event.id, block: event.block.number, by: event.args.by, value: event.args.value, read });
});

ponder.on("Thousand:block", async ({ event, context }) => {
  await context.db.insert(thousand).values({ number: event.block.number, time: event.block.timestamp });
});

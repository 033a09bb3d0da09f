import { Hono } from "hono";
import { db } from "ponder:api";
import { change, thousand } from "ponder:schema";
import { asc } from "ponder";

const app = new Hono();

app.get("/changes", async (c) => {
  const rows = await db.select().from(change).orderBy(asc(change.block));
  return c.json(rows.map((r) => [Number(r.block), Number(r.value), Number(r.read)]));
});
app.get("/thousands", async (c) => c.json((await db.select().from(thousand).orderBy(asc(thousand.number))).map((r) => Number(r.number))));

export default app;

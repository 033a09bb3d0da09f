import { onchainTable } from "ponder";

export const change = onchainTable("change", (t) => ({ id: t.text().primaryKey(), block: t.bigint().notNull(), by: t.hex().notNull(), value: t.bigint().notNull(), read: t.bigint().notNull() }));
export const thousand = onchainTable("thousand", (t) => ({ number: t.bigint().primaryKey(), time: t.bigint().notNull() }));

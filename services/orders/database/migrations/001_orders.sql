-- The orders, as package order has them. Prices and quantities are in units of 10^-8.

CREATE TABLE orders (
	uid             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- where it starts and its step: the shard's (Migrate)
	account         text        NOT NULL CHECK (octet_length(account) BETWEEN 1 AND 64),
	client_order_id text        NOT NULL CHECK (octet_length(client_order_id) BETWEEN 1 AND 64),
	symbol          text        NOT NULL CHECK (octet_length(symbol) BETWEEN 1 AND 32),
	side            smallint    NOT NULL CHECK (side BETWEEN 1 AND 3),               -- BUY, SELL, PAY
	status          smallint    NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 4),   -- NEW, PARTIALLY_FILLED, FILLED, CANCELLED
	price           bigint      NOT NULL CHECK (price >= 0),                         -- 0: at the market's
	qty             bigint      NOT NULL CHECK (qty > 0),
	filled          bigint      NOT NULL DEFAULT 0 CHECK (filled BETWEEN 0 AND qty),
	version         bigint      NOT NULL DEFAULT 1 CHECK (version >= 1),
	updated_at      timestamptz NOT NULL DEFAULT now(),
	digest          bytea       NOT NULL CHECK (octet_length(digest) = 32),          -- of what was submitted: order.Submission.Digest
	UNIQUE (account, client_order_id)
) WITH (fillfactor = 80); -- room for a changed row beside the old one

CREATE INDEX orders_account ON orders (account, uid);
CREATE INDEX orders_account_status ON orders (account, status, uid);

-- Whoever changes an order, also by hand: a terminal order stays as it is, an order stays whose it is, and the
-- version counts the changes.
CREATE FUNCTION orders_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.status IN (3, 4) THEN
		RAISE EXCEPTION 'order % is % and never changes again', OLD.uid, CASE OLD.status WHEN 3 THEN 'FILLED' ELSE 'CANCELLED' END
			USING ERRCODE = 'OR001';
	END IF;
	IF (NEW.uid, NEW.account, NEW.client_order_id, NEW.digest) IS DISTINCT FROM (OLD.uid, OLD.account, OLD.client_order_id, OLD.digest) THEN
		RAISE EXCEPTION 'the uid, account, client_order_id and digest of order % cannot change', OLD.uid
			USING ERRCODE = 'OR002', HINT = 'Cancel it and submit another.';
	END IF;
	NEW.version := OLD.version + 1;
	NEW.updated_at := clock_timestamp();
	RETURN NEW;
END $$;

CREATE TRIGGER change BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_change();

CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% of % is refused: its rows are kept', TG_OP, TG_TABLE_NAME
		USING ERRCODE = 'OR003';
END $$;

CREATE TRIGGER keep BEFORE DELETE OR TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- What the database is: key shard, value I/N.
CREATE TABLE meta (
	key   text PRIMARY KEY,
	value text NOT NULL
);

-- The tables of ordersd, as far as this program uses them: where ordersd has made its own, they are used as they are.
-- Prices and quantities are in units of 10^-8.

CREATE TABLE orders (
	uid             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	account         text        NOT NULL,
	client_order_id text        NOT NULL,
	symbol          text        NOT NULL,
	side            smallint    NOT NULL CHECK (side BETWEEN 1 AND 3),
	status          smallint    NOT NULL DEFAULT 1 CHECK (status BETWEEN 1 AND 4),
	price           bigint      NOT NULL CHECK (price >= 0), -- 0: at the market's
	qty             bigint      NOT NULL CHECK (qty > 0),
	filled          bigint      NOT NULL DEFAULT 0 CHECK (filled BETWEEN 0 AND qty),
	version         bigint      NOT NULL DEFAULT 1,
	updated_at      timestamptz NOT NULL DEFAULT now(),
	digest          bytea       NOT NULL, -- of what was submitted
	UNIQUE (account, client_order_id)
) WITH (fillfactor = 80); -- room for a changed row beside the old one

CREATE INDEX orders_account ON orders (account, uid);
CREATE INDEX orders_account_status ON orders (account, status, uid);

CREATE TABLE audit (
	id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at              timestamptz NOT NULL DEFAULT now(),
	account         text        NOT NULL,
	uid             bigint      NOT NULL REFERENCES orders,
	kind            smallint    NOT NULL, -- 1 JSON, 2 pacs.008, 3 FIX
	client_order_id text        NOT NULL,
	message         bytea       NOT NULL  -- as it came
);

-- Whoever changes an order: one that is filled or cancelled stays as it is, and the version counts the changes.
CREATE FUNCTION orders_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.status IN (3, 4) THEN
		RAISE EXCEPTION 'order % has ended and never changes again', OLD.uid USING ERRCODE = 'OR001';
	END IF;
	IF (NEW.uid, NEW.account, NEW.client_order_id, NEW.digest) IS DISTINCT FROM (OLD.uid, OLD.account, OLD.client_order_id, OLD.digest) THEN
		RAISE EXCEPTION 'the uid, account, client_order_id and digest of order % cannot change', OLD.uid USING ERRCODE = 'OR002';
	END IF;
	NEW.version := OLD.version + 1;
	NEW.updated_at := clock_timestamp();
	RETURN NEW;
END $$;

CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% of % is refused: its rows are kept', TG_OP, TG_TABLE_NAME USING ERRCODE = 'OR003';
END $$;

CREATE TRIGGER change BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_change();
CREATE TRIGGER keep BEFORE DELETE OR TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION append_only();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- What was submitted, as it came. A partition holds a month (UTC), so that what is past retention can be dropped whole.

CREATE TABLE audit (
	id              bigint      GENERATED ALWAYS AS IDENTITY,
	at              timestamptz NOT NULL DEFAULT now(),
	account         text        NOT NULL,
	uid             bigint      NOT NULL,
	kind            smallint    NOT NULL, -- 1 JSON, 2 pacs.008, 3 FIX
	client_order_id text        NOT NULL,
	message         bytea       NOT NULL
) PARTITION BY RANGE (at);

CREATE INDEX audit_uid ON audit (uid);

-- Each table has triggers of its own, so that a partition cannot be changed behind the parent's back either.
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION append_only();

CREATE TABLE audit_default PARTITION OF audit DEFAULT;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_default FOR EACH STATEMENT EXECUTE FUNCTION append_only();

-- audit_ahead makes the partitions of this month and as many later ones, and returns how many were missing. Several
-- gateways may call it at once. A month of which rows are in audit_default already is left there.
CREATE FUNCTION audit_ahead(months int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	first timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
	month timestamp;
	name  text;
	made  int := 0;
BEGIN
	PERFORM pg_advisory_xact_lock(7310577370041);
	FOR i IN 0..months LOOP
		month := first + make_interval(months => i);
		name := 'audit_' || to_char(month, 'YYYY_MM');
		CONTINUE WHEN to_regclass(name) IS NOT NULL;
		CONTINUE WHEN EXISTS (SELECT FROM audit_default
			WHERE at >= month AT TIME ZONE 'UTC' AND at < (month + interval '1 month') AT TIME ZONE 'UTC');
		EXECUTE format('CREATE TABLE %I PARTITION OF audit FOR VALUES FROM (%L) TO (%L)',
			name, month AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
		EXECUTE format('CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION append_only()', name);
		made := made + 1;
	END LOOP;
	RETURN made;
END $$;

-- audit_expire drops the partitions whose last moment is longer ago than that, and returns how many.
CREATE FUNCTION audit_expire(retention interval) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	name    text;
	dropped int := 0;
BEGIN
	PERFORM pg_advisory_xact_lock(7310577370041);
	FOR name IN
		SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'audit'::regclass AND c.relname ~ '^audit_\d{4}_\d{2}$'
		AND (to_date(substr(c.relname, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC' <= now() - retention
	LOOP
		EXECUTE format('DROP TABLE %I', name);
		dropped := dropped + 1;
	END LOOP;
	RETURN dropped;
END $$;

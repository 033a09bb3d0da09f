-- Records come into audit_default when nobody could make their month's partition in time. As soon as somebody can, they
-- are moved into it, so that retention finds them.

-- audit_ahead makes the partitions of this month and as many later ones, and of each month with records in
-- audit_default, and returns how many were missing. Several gateways may call it at once. Nobody can submit while
-- records are moved, so it moves up to 100,000, which takes about a second: a month with more of them is left there.
CREATE OR REPLACE FUNCTION audit_ahead(months int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	first timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
	room  bigint := 100000;
	made  int := 0;
	month timestamp;
	since timestamptz;
	until timestamptz;
	name  text;
	late  bigint;
BEGIN
	PERFORM pg_advisory_xact_lock(7310577370041);
	FOREACH month IN ARRAY ARRAY( -- whole, so that no cursor is open on the tables that are altered
		SELECT first + make_interval(months => i) FROM generate_series(0, months) i
		UNION SELECT date_trunc('month', at AT TIME ZONE 'UTC') FROM audit_default
			WHERE at BETWEEN '1900-01-01 UTC' AND '2200-01-01 UTC' -- what is beyond, no clock has said
		ORDER BY 1)
	LOOP
		name := 'audit_' || to_char(month, 'YYYY_MM');
		CONTINUE WHEN to_regclass(name) IS NOT NULL;
		since := month AT TIME ZONE 'UTC';
		until := (month + interval '1 month') AT TIME ZONE 'UTC';
		LOCK TABLE ONLY audit IN ACCESS EXCLUSIVE MODE; -- before its partition, as those who submit do
		LOCK TABLE audit_default IN ACCESS EXCLUSIVE MODE;
		SELECT count(*) INTO late FROM (SELECT FROM audit_default WHERE at >= since AND at < until LIMIT room + 1) AS records;
		CONTINUE WHEN late > room;
		room := room - late;
		EXECUTE format('CREATE TABLE %I (LIKE audit INCLUDING DEFAULTS)', name);
		IF late > 0 THEN
			-- Nobody else comes by while the trigger is off: the lock is held until the end of the transaction.
			EXECUTE format('INSERT INTO %I SELECT * FROM audit_default WHERE at >= %L AND at < %L', name, since, until);
			ALTER TABLE audit_default DISABLE TRIGGER keep;
			DELETE FROM audit_default WHERE at >= since AND at < until;
			ALTER TABLE audit_default ENABLE TRIGGER keep;
		END IF;
		EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, since, until);
		EXECUTE format('CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION append_only()', name);
		made := made + 1;
	END LOOP;
	RETURN made;
END $$;

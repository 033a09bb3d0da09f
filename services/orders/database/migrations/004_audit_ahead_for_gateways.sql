-- A gateway has a role that may not change tables (roles.go), and still needs the next months' partitions: audit_ahead
-- runs with its owner's rights. What it names is looked up where it was made, never in a session's temporary tables.
DO $$ BEGIN
	EXECUTE format('ALTER FUNCTION audit_ahead(int) SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION audit_ahead(int), audit_expire(interval) FROM PUBLIC;

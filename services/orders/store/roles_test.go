package store

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"dyno/services/orders/pgtest"
)

// An attacker who has taken over a gateway cannot make the database forget what was submitted, nor
// change what became of it.
func TestTheGatewaysRoleCannotTurnOffTheAudit(t *testing.T) {
	owner := pgtest.Database(t)
	dsn := pgtest.Role(t, owner, "gateway")
	var log bytes.Buffer
	s, err := Open(t.Context(), completed(Options{DSNs: []string{dsn}, Owners: []string{owner}, Log: slog.New(slog.NewTextHandler(&log, nil))}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	submit(t, s, "A1", buy(1))
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("it warns of a role of few rights:\n%s", &log)
	}
	conn := connect(t, dsn)
	if super := get[bool](t, conn, "SELECT rolsuper OR rolreplication OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = current_user"); super {
		t.Error("the role has more than a gateway's rights")
	}
	month := get[string](t, connect(t, owner), "SELECT max(c.relname) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relname <> 'audit_default'")
	for _, attack := range []string{
		"ALTER TABLE audit DISABLE TRIGGER keep",
		"ALTER TABLE audit_default DISABLE TRIGGER ALL",
		"ALTER TABLE " + month + " DISABLE TRIGGER keep",
		"ALTER TABLE audit DETACH PARTITION " + month,
		"DROP TRIGGER keep ON audit",
		"DROP TABLE audit",
		"DROP TABLE " + month,
		"SET session_replication_role = replica",
		"DELETE FROM audit",
		"DELETE FROM " + month,
		"UPDATE audit SET account = 'B'",
		"TRUNCATE audit",
		"INSERT INTO audit (at, account, uid, kind, client_order_id, message) VALUES ('2001-01-01', 'A', 1, 1, 'x', '')",
		"SELECT audit_expire('0')",
		"CREATE OR REPLACE FUNCTION append_only() RETURNS trigger LANGUAGE sql AS 'SELECT NULL'",
		"ALTER FUNCTION append_only() OWNER TO gateway",
		"UPDATE orders SET status = 3",
		"UPDATE orders SET digest = digest || 'x'",
		"UPDATE orders SET digest = sha256('x')",
		"DELETE FROM orders",
		"TRUNCATE orders",
		"INSERT INTO orders (account, client_order_id, symbol, side, price, qty, digest, status) VALUES ('A', 'x', 'X', 1, 1, 1, sha256('x'), 3)",
		"DROP TABLE orders",
		"INSERT INTO migrations (version, name) VALUES (99, 'x')",
		"UPDATE meta SET value = '1/2'",
		"ALTER ROLE gateway SUPERUSER",
		"CREATE TABLE mine (x int)",
		"ALTER SYSTEM SET log_connections = on",
	} {
		if _, err := conn.Exec(t.Context(), attack); err == nil {
			t.Errorf("the gateway's role may: %s", attack)
		}
	}
	if n := get[int](t, connect(t, owner), "SELECT count(*) FROM audit"); n != 1 {
		t.Errorf("%d audit records, want 1", n)
	}
	// A temporary table of the gateway's is not what the owner's function takes for the audit.
	exec(t, conn, "CREATE TEMPORARY TABLE audit_default (at timestamptz)")
	if made := get[int](t, conn, "SELECT audit_ahead(4)"); made != 2 {
		t.Errorf("%d partitions made, want 2", made)
	}
}

// An owner or a superuser in the gateway's place is warned of.
func TestAStrongRoleIsWarnedOf(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(t.Context(), completed(Options{DSNs: []string{pgtest.Database(t)}, Log: slog.New(slog.NewTextHandler(&log, nil))}))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if !strings.Contains(log.String(), "could turn off the audit") {
		t.Errorf("nothing warns:\n%s", &log)
	}
}

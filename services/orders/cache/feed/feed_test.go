package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dyno/services/orders/cache/pgoutput"
	"dyno/services/orders/postgres/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func do(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func place(t *testing.T, conn *pgx.Conn) pgoutput.LSN {
	t.Helper()
	var text string
	if err := conn.QueryRow(t.Context(), `SELECT pg_current_wal_flush_lsn()::text`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	at, err := pgoutput.ParseLSN([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// follow returns what is told until the feed has come to a place.
func follow(t *testing.T, f *Feed, until pgoutput.LSN) (told []Event) {
	t.Helper()
	if err := f.Ask(); err != nil {
		t.Fatal(err)
	}
	for at := pgoutput.LSN(0); at < until; {
		e, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == Moved {
			if e.At <= at {
				t.Fatalf("it moved from %s to %s", at, e.At)
			}
			at = e.At
			continue
		}
		told = append(told, e)
	}
	return told
}

func TestFeed(t *testing.T) {
	dsn := pgtest.Server(t, map[string]string{"wal_level": "logical"}).DSN()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	do(t, conn, `CREATE TABLE a (note text, id bigint PRIMARY KEY)`, `CREATE TABLE other (id bigint PRIMARY KEY)`,
		`INSERT INTO a VALUES ('before', 1)`, `CREATE PUBLICATION p FOR TABLE a, other`)
	var table uint32
	if err := conn.QueryRow(t.Context(), `SELECT 'a'::regclass::oid`).Scan(&table); err != nil {
		t.Fatal(err)
	}
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), Config{Postgres: config, Publication: "p", Table: table, Key: "id"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if id, timeline, ok := strings.Cut(f.Lineage, "/"); !ok || id == "" || timeline != "00000001" {
		t.Errorf("the server is %s", f.Lineage)
	}

	for _, step := range []struct {
		sql  string
		want []string
	}{
		{`INSERT INTO a VALUES ('x', 2), ('y', 3)`, []string{"2", "3"}},
		{`UPDATE a SET note = 'z' WHERE id = 1`, []string{"1"}},
		{`UPDATE a SET id = 4 WHERE id = 3`, []string{"3", "4"}},
		{`DELETE FROM a WHERE id = 2`, []string{"2"}},
		{`INSERT INTO other VALUES (9)`, nil},
		{`CREATE TABLE unrelated AS SELECT 1`, nil},
		{`ALTER TABLE a DROP COLUMN note; INSERT INTO a VALUES (5)`, []string{"5"}},
		{`ALTER TABLE a REPLICA IDENTITY FULL; DELETE FROM a WHERE id = 5`, []string{"5"}},
		{`BEGIN; INSERT INTO a VALUES (6); ROLLBACK`, nil},
		{`TRUNCATE other`, nil},
		{`TRUNCATE a, other`, []string{"all"}},
		{`INSERT INTO a SELECT generate_series(100, 102)`, []string{"100", "101", "102"}},
	} {
		do(t, conn, step.sql)
		var got []string
		var xid uint32
		for i, e := range follow(t, f, place(t, conn)) {
			if i > 0 && e.XID != xid || e.XID == 0 {
				t.Errorf("%s: transactions %d and %d", step.sql, xid, e.XID)
			}
			xid = e.XID
			if e.Kind == Truncated {
				got = append(got, "all")
				continue
			}
			got = append(got, fmt.Sprint(e.Key))
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: told %v, want %v", step.sql, got, step.want)
		}
	}

	ended := make(chan error)
	go func() {
		for {
			if _, err := f.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	f.Close()
	if err := <-ended; err == nil {
		t.Error("a feed that was closed goes on")
	}
}

func TestOpenFails(t *testing.T) {
	config, err := pgconn.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), Config{Postgres: config, Publication: "nowhere", Key: "id"})
	if err == nil {
		f.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "the publication nowhere") {
		t.Errorf("without a publication: %v", err)
	}
}

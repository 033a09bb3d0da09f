package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func query[T any](t *testing.T, dsn, statement string) T {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var v T
	if err := conn.QueryRow(ctx, statement).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}

func TestDatabasesAreFreshAndApart(t *testing.T) {
	a, b := Database(t), Database(t)
	patiently(t, a, "create table t (i int)")
	patiently(t, b, "create table t (i int)") // fails when a and b are one
	if tables := query[int](t, Database(t), "select count(*)::int from pg_tables where schemaname = 'public'"); tables != 0 {
		t.Errorf("a fresh database has %d tables", tables)
	}
}

// What was acknowledged is on the standby when the primary dies.
func TestFailover(t *testing.T) {
	primary := Primary(t)
	patiently(t, primary.DSN(), "create table t (i int)")
	standby := Standby(t, primary)
	patiently(t, primary.DSN(), "insert into t values (42)")
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), primary.DSN()); err == nil {
		t.Error("the primary still accepts connections")
	}
	if !query[bool](t, standby.DSN(), "select pg_is_in_recovery()") {
		t.Error("the standby is none before it is promoted")
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	patiently(t, standby.DSN(), "insert into t values (43)")
	if sum := query[int](t, standby.DSN(), "select sum(i)::int from t"); sum != 85 {
		t.Errorf("the promoted standby's rows sum to %d, want 42 + 43", sum)
	}
}

func TestServerSurvivesStopAndKill(t *testing.T) {
	pg := Server(t, map[string]string{"max_connections": "7"})
	patiently(t, pg.DSN(), "create table t as select 42 as i")
	if n := query[string](t, pg.DSN(), "show max_connections"); n != "7" {
		t.Errorf("max_connections %s", n)
	}
	dsn := pg.DSN()
	for name, end := range map[string]func() error{
		"stop": func() error { return pg.Stop(t.Context()) },
		"kill": pg.Kill,
	} {
		if err := end(); err != nil {
			t.Fatal(name, err)
		}
		if _, err := pgx.Connect(t.Context(), dsn); err == nil {
			t.Error(name, ": it still accepts connections")
		}
		if err := pg.Restart(t.Context()); err != nil {
			t.Fatal(name, err)
		}
		if i := query[int](t, dsn, "select i from t"); i != 42 {
			t.Errorf("%s: %d", name, i)
		}
	}
	select {
	case err := <-pg.Failed():
		t.Error(err)
	default:
	}
}

// A template is prepared once, also for concurrent requests; changes to a copy stay in the copy.
func TestTemplate(t *testing.T) {
	var prepared atomic.Int64
	p := NewTemplate(func(t testing.TB, dsn string) {
		prepared.Add(1)
		patiently(t, dsn, "create table t as select 42 as i")
	})
	t.Run("copies", func(t *testing.T) {
		for i := range 3 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				dsn := p.Database(t)
				patiently(t, dsn, "update t set i = i + 1")
				if i := query[int](t, dsn, "select i from t"); i != 43 {
					t.Errorf("%d, want 43", i)
				}
			})
		}
	})
	if n := prepared.Load(); n != 1 {
		t.Errorf("prepared %d times", n)
	}
}

// What an interrupted test has left is removed, and nothing else.
func TestSweep(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	where := t.TempDir()
	names := map[string]bool{ // -> whether it stays
		fmt.Sprintf("pgtest-%d-1", dead.Process.Pid): false, fmt.Sprintf("pgtest-%d-2", os.Getpid()): true,
		"pgtest-x-3": true, fmt.Sprintf("other-%d-4", dead.Process.Pid): true,
	}
	for name := range names {
		if err := os.MkdirAll(filepath.Join(where, name, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweep(where)
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(where, name)); (err == nil) != stays {
			t.Errorf("%s: %v, stays: %v", name, err, stays)
		}
	}
}

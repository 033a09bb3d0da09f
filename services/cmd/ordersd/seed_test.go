package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/orders"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/postgres"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ordersIn counts the orders in a database.
func ordersIn(t *testing.T, dsn string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The command starts the PostgreSQL of the data folder, or finds it running.
func TestSeedCommand(t *testing.T) {
	bin, data := pgtest.Bin(t), pgtest.Folder(t)
	run := func(args ...string) (stdout, stderr string, err error) {
		t.Helper()
		cmd := seedCommand()
		var out, errs strings.Builder
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true // as under the daemon's command
		err = cmd.ExecuteContext(t.Context())
		return out.String(), errs.String(), err
	}
	embedded := []string{"--rows", "30", "--accounts", "3", "--data", data, "--postgres-bin", bin}
	stdout, stderr, err := run(embedded...)
	if err != nil || strings.Count(stdout, "\n") != 2 || !strings.Contains(stdout, "ordersd token --sub A1") || !strings.Contains(stderr, "30 orders in") {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	pg, err := postgres.Start(t.Context(), postgres.Options{Folder: filepath.Join(data, "postgres"), Bin: bin, Database: orders.Database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := run(embedded...); err != nil {
		t.Fatal(err)
	}
	if n := ordersIn(t, pg.DSN()); n != 60 {
		t.Errorf("%d orders", n)
	}

	shards := []string{pgtest.Database(t), pgtest.Database(t)}
	if _, stderr, err := run("--rows", "31", "--dsn", shards[0], "--dsn", shards[1]); err != nil || !strings.Contains(stderr, "31 orders in") {
		t.Errorf("%v %s", err, stderr)
	}
	for i, want := range []int{16, 15} {
		if n := ordersIn(t, shards[i]); n != want {
			t.Errorf("%d orders in shard %d, want %d", n, i, want)
		}
	}
	for _, args := range [][]string{{}, {"--rows", "0"}, {"--rows", "5", "--accounts", "0"}, {"--rows", "5", "10"}, {"--rows", "1", "--dsn", "a", "--dsn", "b"}, {"--rows", "1", "--dsn", "a", "--data", "b"}} {
		if _, _, err := run(args...); err == nil {
			t.Errorf("seed %v is done", args)
		}
	}
}

func TestPostgresRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		says string
	}{
		{"", "--data"},
		{"--data /nowhere --listen 0.0.0.0:5432", "--listen"},
		{"--data /nowhere --debug 0.0.0.0:0", "--debug"},
		{"--data /nowhere --debug nonsense", "--debug"},
		{"--data /nowhere --rows -1", "--rows"},
		{"--data /nowhere --rows 1 --accounts 0", "--accounts"},
		{"surplus", "surplus"},
	} {
		cmd := postgresCommand()
		cmd.SetArgs(strings.Fields(c.args))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

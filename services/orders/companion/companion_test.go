package companion

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/flock"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/postgres"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// database is the name of the tests' database and of its owner.
const database = "trial"

func query[T any](t *testing.T, dsn, statement string) (v T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), statement).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}

// free reports whether no process of PostgreSQL is left: each has the lock open.
func free(t *testing.T, folder string) bool {
	l, err := flock.Open(filepath.Join(folder, "server.lock"))
	if err != nil && !errors.Is(err, flock.ErrLocked) {
		t.Fatal(err)
	}
	l.Close()
	return err == nil
}

// command is a run of a companion in this process.
type command struct {
	DSN, Listen, Debug, Service string
	Ready                       bool
	PID                         int

	stop func() error // signals it to end and waits
	wait func() error // waits
}

func runCompanion(t *testing.T, folder string, prepare func(context.Context, string) error) *command {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	debug, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := postgres.Options{Folder: folder, Bin: pgtest.Bin(t), Database: database, Settings: map[string]string{"fsync": "off"}, Progress: io.Discard}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		err = Companion{o, "trial postgres", prepare}.Run(ctx, debug, write)
		write.CloseWithError(fmt.Errorf("it ended: %v", err))
	}()
	c := &command{wait: func() error { <-ended; return err }}
	c.stop = func() error { cancel(); return c.wait() }
	t.Cleanup(func() { c.stop() })
	line, readErr := bufio.NewReader(read).ReadBytes('\n')
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err := json.Unmarshal(line, c); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c
}

func (c *command) post(t *testing.T, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Post("http://"+c.Debug+path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestCompanion(t *testing.T) {
	folder := pgtest.Folder(t)
	prepared := ""
	prepare := func(_ context.Context, dsn string) error {
		prepared = dsn
		return nil
	}
	c := runCompanion(t, folder, prepare)
	if !c.Ready || c.Service != "trial postgres" || c.PID != os.Getpid() || !strings.Contains(c.DSN, "@"+c.Listen+"/"+database) {
		t.Errorf("ready line %+v", c)
	}
	if prepared != c.DSN {
		t.Errorf("prepared %q, want %q", prepared, c.DSN)
	}
	conn, err := pgx.Connect(t.Context(), c.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "create table t as select 42 as i"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/stop?for=10ms", "/kill", "/stop"} {
		before := query[string](t, c.DSN, "select pg_postmaster_start_time()::text")
		status, body := c.post(t, path)
		if status != 200 || !strings.Contains(body, `"down_s":`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if after := query[string](t, c.DSN, "select pg_postmaster_start_time()::text"); after == before {
			t.Errorf("%s: it was not started anew", path)
		}
		if i := query[int](t, c.DSN, "select i from t"); i != 42 {
			t.Errorf("%s: %d, want 42", path, i)
		}
	}
	for _, path := range []string{"/stop?for=soon", "/stop?for=-1s", "/kill?for=1h"} {
		if status, body := c.post(t, path); status != 400 || !strings.Contains(body, "for=") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	if !free(t, folder) {
		t.Error("PostgreSQL goes on after the command")
	}
}

// The command ends, and says why, when its database does.
func TestCompanionWithoutADatabase(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	folder := pgtest.Folder(t)
	c := runCompanion(t, folder, nil)
	text, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	postmaster, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := postmaster.Kill(); err != nil {
		t.Fatal(err)
	}
	servicetest.Await(t, func() string { return "the end of PostgreSQL" }, func() bool {
		_, ok := postgres.Running(folder, database)
		return !ok
	})
	if err := c.wait(); err == nil || !strings.Contains(err.Error(), "ended unexpectedly") {
		t.Error(err)
	}
}

// An outage does not keep the command from ending, and another one is not begun meanwhile.
func TestCompanionEndsDuringAnOutage(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	folder := pgtest.Folder(t)
	c := runCompanion(t, folder, nil)
	answered := make(chan int, 1)
	go func() {
		status, _ := c.post(t, "/stop?for=10m")
		answered <- status
	}()
	servicetest.Await(t, func() string { return "the outage" }, func() bool { return free(t, folder) })
	if status, body := c.post(t, "/kill"); status != 409 {
		t.Errorf("%d %s, want 409", status, body)
	}
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	if status := <-answered; status != 500 {
		t.Errorf("the outage is answered %d, want 500", status)
	}
}

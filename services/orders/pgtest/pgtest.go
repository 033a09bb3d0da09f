// Package pgtest gives tests a PostgreSQL: a fresh database each on one server that the test
// process shares, or a server of their own to stop and kill. It uses the PostgreSQL that a program
// without one of its own gets, which is downloaded once on a machine; without a network the one
// that is installed, and without one the test fails, saying what to install.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// It is for tests only. Main owns the shared server; a test's cleanup stops what the test started.
package pgtest

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/orders/postgres"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// careless are the settings for data that need not survive the machine. Commits still wait for the
// log, so that order and visibility are those of real life.
var careless = map[string]string{"fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "max_wal_size": "128MB"}

// crowded are the settings of the shared server: each of the tests that run side by side has some
// twenty connections.
var crowded = map[string]string{"max_connections": "500"}

// Main runs the tests, stops the shared server, looks for leaked goroutines but for those that
// options say to ignore, and exits. It does not return.
func Main(m *testing.M, options ...goleak.Option) {
	postgres.KeeperMain()
	goleak.VerifyTestMain(stopping{m}, options...)
}

// stopping stops the shared server after the tests and before goroutines are counted.
type stopping struct{ m *testing.M }

func (s stopping) Run() int {
	code := s.m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// shared is the test process's one server, started by the first test that wants it.
var shared server

type server struct {
	mu     sync.Mutex
	folder string
	pg     *postgres.Server
	err    error
}

// get returns the server, or why there is none: the first error is everybody's.
func (s *server) get(bin string) (*postgres.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pg != nil || s.err != nil {
		return s.pg, s.err
	}
	if s.folder, s.err = makeFolder(); s.err == nil {
		s.pg, s.err = start(s.folder, bin, crowded)
	}
	return s.pg, s.err
}

func (s *server) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.pg != nil {
		err = s.pg.Stop(context.Background())
		s.pg = nil
	}
	if s.folder != "" {
		os.RemoveAll(s.folder)
	}
	return err
}

// start runs a server with settings over the careless ones.
func start(folder, bin string, settings map[string]string) (*postgres.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return postgres.Start(ctx, options(folder, bin, settings))
}

// startTimeout leaves an overloaded machine time for initdb, and ends before go test does.
const startTimeout = 5 * time.Minute

func options(folder, bin string, settings map[string]string) postgres.Options {
	all := maps.Clone(careless)
	maps.Copy(all, settings)
	return postgres.Options{Folder: folder, Bin: bin, Settings: all}
}

// shipped finds, once, the PostgreSQL of the tests.
var shipped = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return postgres.FindBinaries(ctx, os.Stderr)
})

// Bin returns the folder of the PostgreSQL that tests use. The first test on a machine downloads
// it.
func Bin(t testing.TB) string {
	t.Helper()
	bin, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// databases numbers the databases of the shared server.
var databases atomic.Int64

// Database returns the URL of a fresh, empty database on the shared server. It is dropped after the
// test, with the sessions that are still connected.
func Database(t testing.TB) (dsn string) {
	t.Helper()
	return fresh(t, "")
}

// fresh creates a database that is dropped after the test.
func fresh(t testing.TB, options string) (dsn string) {
	t.Helper()
	name := nextName()
	dsn = create(t, name, options)
	t.Cleanup(func() { drop(t, name) })
	return dsn
}

func nextName() string { return fmt.Sprintf("test_%d", databases.Add(1)) }

// administrator returns the URL of a database of the shared server from which others are made and
// dropped.
func administrator(t testing.TB) (dsn string) {
	t.Helper()
	pg, err := shared.get(Bin(t))
	if err != nil {
		t.Fatal(err)
	}
	return pg.DSN()
}

// create creates a database on the shared server and returns its URL.
func create(t testing.TB, name, options string) (dsn string) {
	t.Helper()
	admin := administrator(t)
	patiently(t, admin, "create database "+name+options)
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// drop drops a database, and ends the connections to it.
func drop(t testing.TB, name string) {
	t.Helper()
	patiently(t, administrator(t), "drop database if exists "+name+" with (force)")
}

// connected has a connection for at most a minute.
func connected(t testing.TB, dsn string, do func(context.Context, *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := do(ctx, conn); err != nil {
		t.Fatal(err)
	}
}

// Server starts a server of the test's own, with settings (nil: none) over those of the shared one.
// It can be stopped, killed and restarted on the same port, and is stopped after the test.
func Server(t testing.TB, settings map[string]string) *postgres.Server {
	t.Helper()
	return serverOf(t, Bin(t), settings)
}

func serverOf(t testing.TB, bin string, settings map[string]string) *postgres.Server {
	t.Helper()
	pg, err := start(Folder(t), bin, settings)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, pg)
	return pg
}

// Primary starts a server of which Standby can make a copy. That takes pg_basebackup, which a
// downloaded PostgreSQL lacks: it is one that is installed, and the test is skipped when there is
// none.
func Primary(t testing.TB) *postgres.Server {
	t.Helper()
	bin, ok := postgres.InstalledWith(t.Context(), "pg_basebackup")
	if !ok {
		t.Skip("a standby needs pg_basebackup; install it (Debian: apt install postgresql)")
	}
	return serverOf(t, bin, nil)
}

func stopAfter(t testing.TB, pg *postgres.Server) {
	t.Cleanup(func() {
		if err := pg.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Standby starts a copy of primary, as which commits on primary are now also on disk before they
// are acknowledged. Its method Promote makes it a primary.
func Standby(t testing.TB, primary *postgres.Server) *postgres.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	pg, err := primary.Standby(ctx, options(Folder(t), primary.Bin(), nil))
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, pg)
	return pg
}

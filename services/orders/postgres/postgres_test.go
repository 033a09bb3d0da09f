package postgres

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dyno/parts/quicktest"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	KeeperMain()
	ownerMain()
	goleak.VerifyTestMain(m)
}

var shipped = sync.OnceValues(func() (string, error) { return FindBinaries(context.Background(), os.Stderr) })

// testOptions returns those of a server whose data need not survive the machine.
func testOptions(t *testing.T) Options {
	t.Helper()
	bin, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Folder: testFolder(t), Bin: bin, Database: "test", Settings: map[string]string{"fsync": "off"}}
}

// testFolder returns a folder that can be entered by the user of PostgreSQL when root runs the
// test.
func testFolder(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "postgres-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(parent, "deep", "pg")
}

func mustStart(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func query[T any](t *testing.T, dsn, statement string, args ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var v T
	if err := conn.QueryRow(t.Context(), statement, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}

// wants fails the test unless err says all of these.
func wants(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", says)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
}

const makeTable = "create table t as select 42 as i; select 0"

// script runs statements that return nothing of interest.
func script(t *testing.T, dsn, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func TestDataSurvivesAStop(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	var progress strings.Builder
	o.Progress = &progress
	s := mustStart(t, o)
	script(t, s.DSN(), makeTable)
	first := s.DSN()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	if _, err := pgx.Connect(t.Context(), first); err == nil {
		t.Error("it accepts connections after Stop")
	}
	s = mustStart(t, o)
	if i := query[int](t, s.DSN(), "select i from t"); i != 42 {
		t.Errorf("%d, want 42", i)
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("it can be started twice")
	}
	if n := strings.Count(progress.String(), "making a PostgreSQL"); n != 1 {
		t.Errorf("the cluster was made %d times:\n%s", n, progress.String())
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Settings["max_connections"] = "17"
	s := mustStart(t, o)
	for name, want := range map[string]string{
		"max_connections": "17", "fsync": "off", "wal_level": "replica",
		"shared_buffers": "128MB", "synchronous_commit": "on", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
		"server_encoding": "UTF8", "TimeZone": "UTC", "port": strings.TrimPrefix(s.Address(), "127.0.0.1:"),
	} {
		if got := query[string](t, s.DSN(), "select current_setting($1)", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := query[string](t, s.DSN(), "select current_database()"); got != "test" {
		t.Errorf("the DSN names database %q", got)
	}
}

func TestAPasswordIsNeeded(t *testing.T) {
	t.Parallel()
	s := mustStart(t, testOptions(t))
	info, err := os.Stat(s.cluster.passwordFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want a file of mode 0600", info.Mode(), err)
	}
	if len(s.cluster.password) < 26 {
		t.Errorf("the password %q is short", s.cluster.password)
	}
	_, err = pgx.Connect(t.Context(), dsnOf("test", "guess", s.Address(), "test"))
	wants(t, err, "password authentication failed")
	hba, err := os.ReadFile(filepath.Join(s.cluster.data(), "pg_hba.conf"))
	if err != nil || strings.Contains(string(hba), "trust\n") {
		t.Errorf("a client is trusted without a password (%v):\n%s", err, hba)
	}
}

func TestItsEndIsTold(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	s := mustStart(t, testOptions(t))
	script(t, s.DSN(), makeTable)
	postmaster, err := os.FindProcess(postmasterOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is reported as well
		if err := postmaster.Kill(); err != nil {
			t.Fatal(err)
		}
		wants(t, <-s.Failed(), "ended unexpectedly", "killed", s.cluster.log())
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i := query[int](t, s.DSN(), "select i from t"); i != 42 {
			t.Errorf("%d, want 42", i)
		}
		if postmaster, err = os.FindProcess(postmasterOf(t, s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.Failed():
		t.Errorf("Kill is reported as a failure: %v", err)
	default:
	}
}

// A start that is given up leaves no process, and what it began does not stand in the way of the
// next.
func TestAStartGivenUp(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	o := testOptions(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = cancelAt{"making a PostgreSQL", cancel}
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) && err == nil {
		t.Fatal("a cancelled start succeeds")
	}
	if err := os.MkdirAll(filepath.Join(o.Folder, "data.new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	if got := query[int](t, mustStart(t, o).DSN(), "select 1"); got != 1 {
		t.Error(got)
	}
}

// cancelAt cancels when a line with text is written.
type cancelAt struct {
	text   string
	cancel func()
}

func (c cancelAt) Write(line []byte) (int, error) {
	if strings.Contains(string(line), c.text) {
		c.cancel()
	}
	return len(line), nil
}

// A stop that may take no time is a hard one, and the data survives that too.
func TestAStopInAHurry(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	s := mustStart(t, testOptions(t))
	script(t, s.DSN(), makeTable)
	conn, err := pgx.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil { // nil when it was faster than the order to hurry
		wants(t, err, "recovers at its next start")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if i := query[int](t, s.DSN(), "select i from t"); i != 42 {
		t.Errorf("%d, want 42", i)
	}
}

func TestStartRefuses(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	o := testOptions(t)
	for name, c := range map[string]struct {
		change func(*Options)
		says   []string
	}{
		"no folder":               {func(o *Options) { o.Folder = "" }, []string{"no folder"}},
		"a file":                  {func(o *Options) { o.Folder = touch(t, filepath.Join(testFolder(t), "file")) }, []string{"file"}},
		"another's data":          {func(o *Options) { touch(t, filepath.Join(o.Folder, "data", "precious")) }, []string{"is not a PostgreSQL cluster", "move it away"}},
		"beyond loopback":         {func(o *Options) { o.Address = "0.0.0.0:0" }, []string{"0.0.0.0:0", "loopback only"}},
		"an address in use":       {func(o *Options) { o.Address = mustStart(t, testOptions(t)).Address() }, []string{"address", "in use"}},
		"no binaries":             {func(o *Options) { o.Bin = t.TempDir() }, []string{"--postgres-bin", "/usr/lib/postgresql"}},
		"a setting that is wrong": {func(o *Options) { o.Settings = map[string]string{"shared_buffers": "lots"} }, []string{"shared_buffers", "lots"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Folder = testFolder(t)
			c.change(&o)
			s, err := Start(t.Context(), o)
			if err == nil {
				s.Stop(t.Context())
			}
			wants(t, err, c.says...)
			if _, err := os.Stat(filepath.Join(o.Folder, "data", "precious")); name == "another's data" && err != nil {
				t.Error("the data was touched:", err)
			}
		})
	}
}

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A lost password is not replaced by another, which PostgreSQL would not accept.
func TestALostPassword(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	o := testOptions(t)
	s := mustStart(t, o)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.cluster.passwordFile()); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	wants(t, err, s.cluster.passwordFile(), "restore it")
}

// The whole of Start, with data of another version: an error, and the data as it was.
func TestDataOfAnotherVersionIsNotTouched(t *testing.T) {
	o := testOptions(t)
	c, err := openCluster(o.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.data(), "PG_VERSION"), []byte("9.6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), o)
	wants(t, err, "PostgreSQL 9.6", o.Bin)
	entries, err := os.ReadDir(c.data())
	if err != nil || len(entries) != 1 {
		t.Errorf("the data holds %v (%v), want PG_VERSION alone", entries, err)
	}
}

package postgres

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dyno/parts/flock"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"

	"github.com/jackc/pgx/v5"
)

// ownerVariable makes a process of the test binary one that runs a PostgreSQL until its input ends.
// It holds the options.
const ownerVariable = "POSTGRES_TEST_OWNER"

// told is the line that such a process prints.
type told struct{ DSN, Error string }

func ownerMain() {
	text, ok := os.LookupEnv(ownerVariable)
	if !ok {
		return
	}
	err := func() error {
		var o Options
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return err
		}
		s, err := Start(context.Background(), o)
		if err != nil {
			return err
		}
		json.NewEncoder(os.Stdout).Encode(told{DSN: s.DSN()})
		io.Copy(io.Discard, os.Stdin)
		return s.Stop(context.Background())
	}()
	if err != nil {
		json.NewEncoder(os.Stdout).Encode(told{Error: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

// owner is such a process.
type owner struct {
	cmd   *exec.Cmd
	input io.Closer
	dsn   string
}

// startOwner runs a PostgreSQL in a process of its own, as user (nil: this one).
func startOwner(t *testing.T, o Options, user *syscall.Credential) (*owner, error) {
	t.Helper()
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		self = "/proc/self/exe" // the unprivileged user may not enter its folder
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), ownerVariable+"="+string(options))
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &owner{cmd: cmd, input: input}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var said told
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if said.Error != "" {
		return p, errors.New(said.Error)
	}
	p.dsn = said.DSN
	return p, nil
}

func (p *owner) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

func (p *owner) stop(t *testing.T) {
	t.Helper()
	p.input.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Error("stopping the owner:", err)
	}
}

// postmasterOf returns the pid in postmaster.pid.
func postmasterOf(t *testing.T, s *Server) int {
	t.Helper()
	text, err := os.ReadFile(s.cluster.postmasterPID())
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// free reports whether no process of PostgreSQL is left: each has the lock open.
func free(t *testing.T, folder string) bool {
	l, err := flock.Open(cluster{folder: folder}.serverLock())
	if err != nil && !errors.Is(err, flock.ErrLocked) {
		t.Fatal(err)
	}
	l.Close()
	return err == nil
}

// PostgreSQL does not outlive an owner that is killed, and acknowledged data is there at the next
// start, which succeeds immediately.
func TestAKilledOwner(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	for round := range 2 {
		p, err := startOwner(t, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		script(t, p.dsn, fmt.Sprintf("create table t%d as select 42 as i", round))
		busy, err := pgx.Connect(t.Context(), p.dsn) // a session that would keep a polite server up
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close(context.Background())
		if free(t, o.Folder) {
			t.Error("a running PostgreSQL does not hold its lock")
		}
		p.kill()
		if round == 0 {
			servicetest.Await(t, func() string { return "the end of PostgreSQL" }, func() bool { return free(t, o.Folder) })
			if _, err := pgx.Connect(t.Context(), p.dsn); err == nil {
				t.Error("it still accepts connections")
			}
		}
	}
	s := mustStart(t, o)
	if n := query[int](t, s.DSN(), "select count(*)::int from t0, t1"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// When the keeper itself is killed the kernel stops PostgreSQL.
func TestAKilledKeeper(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals a child when its parent dies")
	}
	s := mustStart(t, testOptions(t))
	if err := syscall.Kill(parentOf(t, postmasterOf(t, s)), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wants(t, <-s.Failed(), "killed")
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query[int](t, s.DSN(), "select 1"); got != 1 {
		t.Error(got)
	}
}

// parentOf returns the parent of a process, from ps: a postmaster's is its keeper.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	said, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.TrimSpace(string(said)))
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func TestTwoProcessesInOneFolder(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	o := testOptions(t)
	if _, ok := Running(o.Folder, "test"); ok {
		t.Error("something runs in a folder that is not there")
	}
	p, err := startOwner(t, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), o)
	wants(t, err, fmt.Sprintf("(pid %d)", p.cmd.Process.Pid), "--data")
	if !errors.Is(err, ErrInUse) {
		t.Errorf("%v is not ErrInUse", err)
	}
	dsn, ok := Running(o.Folder, "test")
	if !ok || dsn != p.dsn {
		t.Errorf("Running: %q %v, want %q", dsn, ok, p.dsn)
	}
	if got := query[int](t, dsn, "select 1"); got != 1 {
		t.Error(got)
	}
	p.stop(t)
	if dsn, ok := Running(o.Folder, "test"); ok {
		t.Errorf("%s runs after it has stopped", dsn)
	}
	if !free(t, o.Folder) {
		t.Error("the owner ended before its PostgreSQL")
	}
}

// What a killed PostgreSQL leaves is not taken for a running one, also when another listens on its
// port.
func TestAStalePostmasterFile(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	killed := mustStart(t, testOptions(t))
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed.cluster.postmasterPID()); err != nil {
		t.Fatal("this test wants a file that is left:", err)
	}
	if dsn, ok := Running(killed.options.Folder, "test"); ok {
		t.Errorf("%s runs after it was killed", dsn)
	}
	o := testOptions(t)
	o.Address = killed.Address()
	touch(t, filepath.Join(o.Folder, "owner.lock"))
	password := filepath.Join(o.Folder, "password")
	if err := os.WriteFile(password, []byte(killed.cluster.password), 0o600); err != nil { // so that only the data differs
		t.Fatal(err)
	}
	if c := killed.cluster; c.user != nil {
		if err := c.give(password); err != nil {
			t.Fatal(err)
		}
	}
	mustStart(t, o)
	if dsn, ok := Running(killed.options.Folder, "test"); ok {
		t.Errorf("%s is another's", dsn)
	}
	if _, ok := Running(o.Folder, "test"); !ok {
		t.Error("the other one does not run")
	}
}

// Root and the unprivileged user can take turns.
func TestAsRootAndAsNobody(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	if os.Geteuid() != 0 {
		t.Skip("only root can change its user")
	}
	id := &syscall.Credential{Uid: UnprivilegedID, Gid: UnprivilegedID}
	o := testOptions(t)
	if err := os.MkdirAll(o.Folder, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(o.Folder, UnprivilegedID, UnprivilegedID); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		p, err := startOwner(t, o, id)
		if err != nil {
			t.Fatal("as the unprivileged user:", err)
		}
		script(t, p.dsn, fmt.Sprintf("create table n%d (i int)", round))
		p.stop(t)
		s := mustStart(t, o)
		if uid := ownerOf(t, s.cluster.data()); uid != UnprivilegedID {
			t.Errorf("the data is user %d's", uid)
		}
		script(t, s.DSN(), fmt.Sprintf("create table r%d (i int)", round))
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := mustStart(t, o)
	if n := query[int](t, s.DSN(), "select count(*)::int from pg_tables where schemaname = 'public'"); n != 4 {
		t.Errorf("%d tables, want the four of four runs", n)
	}
}

func ownerOf(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

// In a container pids begin anew: what a killed PostgreSQL left may name a process of ours, which
// is none.
func TestAStaleFileThatNamesTheOwner(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own")
	s := mustStart(t, testOptions(t))
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.cluster.postmasterPID())
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(s.cluster.postmasterPID(), []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query[int](t, s.DSN(), "select 1"); got != 1 {
		t.Error(got)
	}
}

package main

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // they wait for servers that are slow or gone more than they compute
	testscript.Main(m, map[string]func(){"ledgersync": main})
}

// The scripts run the command as a user does and look at exit code, stdout and stderr. $SERVER is a
// simulated server of ledgers 1000 to 1011 at $ADDRESS, $GONE one that is not there any more,
// $ANCHOR the hash of ledger 1011.
func TestScripts(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := start(t)
	gone := start(t)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	top, err := s.Chain().Ledger(t.Context(), 1011)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("all", func(t *testing.T) { // waits for the scripts, which are parallel
		testscript.Run(t, testscript.Params{
			Dir: "testdata/script",
			Setup: func(env *testscript.Env) error {
				env.Values[served{}] = new(exec.Cmd)
				env.Setenv("SERVER", s.URL())
				env.Setenv("ADDRESS", strings.TrimPrefix(s.URL(), "http://"))
				env.Setenv("GONE", gone.URL())
				env.Setenv("ANCHOR", top.Hash.String())
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "serves": serves, "stops": stops},
		})
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T) *sim.Sim {
	s, err := sim.Start(sim.Config{Spec: chain.Spec{First: 1000, Ledgers: 12, Transactions: 2}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exits is a command of scripts, exits CODE COMMAND...: it ends with exactly that code, and without
// a stack trace.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(interface{ ExitCode() int }); ok {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%v ended with %d, want %d; stderr:\n%s", args[1:], got, want, ts.ReadFile("stderr"))
	}
}

// served is the key of what serves starts in a script: an *exec.Cmd.
type served struct{}

// serves is a command of scripts, serves ARG...: it starts ledgersync serve and waits until it is
// ready. Its log is in the file log.
func serves(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: serves ARG...")
	}
	cmd := ts.Value(served{}).(*exec.Cmd)
	*cmd = *exec.Command("ledgersync", append([]string{"serve", "--lame-duck=0s"}, args...)...)
	cmd.Dir = ts.Getenv("WORK")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	log, err := os.Create(ts.MkAbs("log"))
	ts.Check(err)
	defer log.Close()
	cmd.Stderr = log
	ts.Check(cmd.Start())
	ts.Defer(func() {
		if cmd.ProcessState == nil { // the script failed
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"ready":true,`) {
		ts.Fatalf("no ready line but %q, %v", line, err)
	}
}

// stops is a command of scripts: what serves started is sent SIGTERM, and ends with 0.
func stops(ts *testscript.TestScript, neg bool, args []string) {
	cmd := ts.Value(served{}).(*exec.Cmd)
	if neg || len(args) > 0 || cmd.Process == nil {
		ts.Fatalf("usage: stops, after serves")
	}
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(cmd.Wait())
}

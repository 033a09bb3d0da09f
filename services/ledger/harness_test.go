package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/export"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/xrpl"
)

const (
	first        = 1000
	ledgers      = 20
	last         = first + ledgers - 1
	transactions = 3
)

var small = chain.Spec{First: first, Ledgers: ledgers, Transactions: transactions, Seed: 11}

// serveChain starts a simulated server, of a small chain by default.
func serveChain(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	if c.Chain == nil && c.Ledgers == 0 {
		c.Spec = small
	}
	s := ledgertest.Serve(t, c)
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func truth(t testing.TB, s *sim.Sim, index uint32) *xrpl.Ledger {
	t.Helper()
	l, err := s.Chain().Ledger(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ledgersync starts the service, a job, or a command that reads a folder, in this process, which
// must leave no goroutine; Stop is SIGTERM.
func ledgersync(t testing.TB, args ...string) *program.Process {
	return program.Inside(program.Tidy(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		var err error
		switch args[0] { // both with --data DIR
		case "check":
			var report folder.CheckReport
			report, err = folder.Check(ctx, args[2], folder.CheckOptions{})
			err = errors.Join(err, report.Err())
		case "export":
			err = exportFolder(ctx, args[2], stdout)
		default:
			none := func(string) (string, bool) { return "", false }
			return daemon.Run(ctx, Service(), args, none, stdout, stderr)
		}
		return daemon.ExitCode(name, err, stderr)
	}))(t, args...)
}

func exportFolder(ctx context.Context, dir string, to io.Writer) error {
	s, err := folder.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(export.NDJSON(ctx, to, s, s.Stored().Indexes(), func() {}), s.Close())
}

// run runs a command that must end with a code, and returns its output.
func run(t testing.TB, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := ledgersync(t, args...)
	if got := p.Wait(t); got != code {
		t.Fatalf("%v exits with %d, want %d; it said:\n%s\n%s", args, got, code, p.Stdout.String(), p.Stderr.String())
	}
	return p.Stdout.String(), p.Stderr.String()
}

// checked proves again what is stored in a folder, which has to be clean.
func checked(t testing.TB, dir string) folder.CheckReport {
	t.Helper()
	report, err := folder.Check(t.Context(), dir, folder.CheckOptions{})
	if err = errors.Join(err, report.Err()); err != nil {
		t.Fatal(err)
	}
	return report
}

// syncing is the command line of a sync.
func syncing(dir string, from, to uint32, url string, more ...string) []string {
	return append([]string{"sync", "--data", dir, "--from", index(from), "--to", index(to), "--server", url, "--debug", "127.0.0.1:0"}, more...)
}

func index(i uint32) string { return strconv.FormatUint(uint64(i), 10) }

// until waits for a condition while a program runs.
func until(t testing.TB, p *program.Process, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(3 * time.Minute) // reached only when the test fails
	defer limit.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-p.Ended():
			t.Fatalf("it ended while waiting for %s; it said:\n%s", what, p.Stderr.String())
		case <-limit.C:
			t.Fatalf("no %s in time; it said:\n%s", what, p.Stderr.String())
		}
	}
}

// ready waits for a service's ready line and returns its public and its private address.
func ready(t testing.TB, p *program.Process) (listen, debug string) {
	t.Helper()
	until(t, p, "the ready line", func() bool { return strings.Contains(p.Stdout.String(), "\n") })
	var line struct{ Listen, Debug string }
	if err := json.Unmarshal([]byte(p.Stdout.String()), &line); err != nil {
		t.Fatal(err)
	}
	return "http://" + line.Listen, "http://" + line.Debug
}

// stored is the set of ledgers in a folder that no process uses.
func stored(t testing.TB, dir string) (string, store.Progress) {
	t.Helper()
	s, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Stored().String(), s.Progress()
}

// opened is a pipeline from servers into an empty store.
func opened(t *testing.T, set map[string]string, urls ...string) *pipeline {
	t.Helper()
	choice, err := Assembly().Resolve(assembly.Tuned, set)
	if err != nil {
		t.Fatal(err)
	}
	env := &daemon.Env{Choice: choice, Data: t.TempDir(), Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Debug: http.NewServeMux(), Stdout: io.Discard, Stderr: io.Discard}
	h, err := openHome(env)
	if err != nil {
		t.Fatal(err)
	}
	r := request{from: first, to: last, servers: urls, level: "L2"}
	p, err := r.open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.close(), h.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

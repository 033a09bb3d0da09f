package protocol

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/parts/daemon"
	"dyno/services/ledger"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
)

// syncs lets the lab read what ledgersync sync --windows prints.
func syncs(t *testing.T, args ...string) (totals record.Totals, code int, stderr string, err error) {
	t.Helper()
	r, out := io.Pipe()
	ended, said := make(chan int, 1), bytes.Buffer{}
	go func() {
		none := func(string) (string, bool) { return "", false }
		args := append([]string{"sync", "--windows", "--debug", "127.0.0.1:0", "--data", t.TempDir(), "--from", "1000", "--to", "1019"}, args...)
		code := daemon.Run(context.Background(), ledger.Service(), args, none, out, &said)
		out.Close()
		ended <- code
	}()
	totals, _, err = load.Run(t.Context(), load.Plan{}, windows.New("ledgersync", r), new(recorded))
	code = <-ended
	return totals, code, said.String(), err
}

func serve(t *testing.T) *sim.Sim {
	t.Helper()
	s, err := sim.Start(sim.Config{Spec: chain.Spec{First: 1000, Ledgers: 20, Transactions: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Each ledger is a unit of work, from its request to its proof.
func TestLabReadsASync(t *testing.T) {
	totals, code, said, err := syncs(t, "--server", serve(t).URL())
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v; it said:\n%s", code, err, said)
	}
	if totals.Ended != 20 || totals.Failed != 0 || totals.Unfinished != 0 || totals.Response.P50 <= 0 {
		t.Errorf("measured %+v", totals)
	}
}

func TestLabReadsWhyASyncFailed(t *testing.T) {
	s := serve(t)
	url := s.URL()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	totals, code, said, err := syncs(t, "--server", url, "--set", "patience=1s")
	if err == nil || !strings.Contains(err.Error(), "refused") || code != 1 || !strings.Contains(said, "refused") {
		t.Errorf("exit code %d, %v; it said:\n%s", code, err, said)
	}
	if totals.Ended != 0 {
		t.Errorf("measured %+v", totals)
	}
}

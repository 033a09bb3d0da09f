package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T, rates fault.Rates) string {
	s, err := sim.Start(sim.Config{Spec: chain.Spec{First: 100, Ledgers: 20, Transactions: 3}, Faults: rates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

// drive lets the lab's side of a job read what the program prints.
func drive(t *testing.T, server, work string) (record.Totals, error) {
	t.Helper()
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, out, server, 100, 119, work, "pure")
		out.Close()
	}()
	totals, _, err := load.Run(t.Context(), load.Plan{Length: 200 * time.Millisecond}, windows.NewSteady("ceiling", r), nowhere{})
	stop()
	r.Close()
	<-ended
	return totals, err
}

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

func TestCeiling(t *testing.T) {
	url := server(t, nil)
	for _, work := range []string{"links", "signatures"} {
		if totals, err := drive(t, url, work); err != nil || totals.Ended == 0 || totals.Response.P50 <= 0 {
			t.Errorf("%s: %+v, %v", work, totals, err)
		}
	}
	for name, c := range map[string]struct {
		from, to      uint32
		work, checker string
		want          string
	}{
		"no range":   {101, 100, "links", "pure", "no range"},
		"too many":   {1, maxLedgers + 1, "links", "pure", "no range"},
		"no work":    {100, 110, "rest", "pure", "--work"},
		"no checker": {100, 110, "links", "none", "--signatures"},
		"no ledger":  {120, 120, "links", "pure", "lgrNotFound"},
	} {
		if err := run(t.Context(), io.Discard, url, c.from, c.to, c.work, c.checker); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A wrong answer ends it: a rate of wrong work would be worth nothing.
func TestWrongAnswers(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Empty, fault.Flip, fault.Fork} {
		if err := run(t.Context(), io.Discard, server(t, fault.Rates{kind: 0.5}), 100, 119, "links", "pure"); err == nil {
			t.Errorf("%s: no error", kind)
		}
	}
}

package main

import (
	"strings"
	"testing"
	"time"

	"dyno/services/ledger/sim"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T, rates sim.Rates) string {
	s, err := sim.Start(sim.Config{ChainConfig: sim.ChainConfig{First: 100, Ledgers: 20, Transactions: 3}, Faults: rates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

func TestCeiling(t *testing.T) {
	url := server(t, nil)
	for _, work := range []string{"links", "signatures"} {
		r, err := run(t.Context(), url, 100, 119, work, "pure", 50*time.Millisecond)
		if err != nil || r.Ledgers == 0 || (work == "signatures") != (r.Signatures > 0) || r.Rate <= 0 {
			t.Errorf("%s: %+v, %v", work, r, err)
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
		"no checker": {100, 110, "links", "unknown", "--signatures"},
		"no ledger":  {120, 120, "links", "pure", "lgrNotFound"},
	} {
		if _, err := run(t.Context(), url, c.from, c.to, c.work, c.checker, time.Millisecond); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A wrong answer ends the measurement.
func TestWrongAnswers(t *testing.T) {
	for _, kind := range []sim.Kind{sim.Empty, sim.Flip, sim.Fork} {
		if r, err := run(t.Context(), server(t, sim.Rates{kind: 0.5}), 100, 119, "links", "pure", 50*time.Millisecond); err == nil {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// rowsFile writes a feeder's file of numbered rows.
func rowsFile(t *testing.T, n int) string {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("n\n")
	for i := range n {
		fmt.Fprintln(&rows, i)
	}
	name := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(name, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A target that the lab does not start never receives a row twice, in whatever run. A run for
// which too few rows are left is invalid, with that reason.
func TestRowsAreSentOnce(t *testing.T) {
	const rows = 300
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.RawQuery]++
	}))
	defer server.Close()
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: once
target: {url: "%s"}
load:
  url: "%[1]s/?${row.n}"
  feeder: {file: %q}
  once: true
  schedule: {kind: constant, rate: 200}
measure: {length: 1s, warmup: 100ms, connections: [1, 2]}
`, server.URL, rowsFile(t, rows)))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(exp.Runs) != 2 || strings.Contains(exp.Runs[0].Invalid, "corpus") || !strings.HasPrefix(exp.Runs[1].Invalid, "corpus used up: its 300 rows lasted") {
		t.Errorf("the first run has enough rows, the second has not: %q", []string{exp.Runs[0].Invalid, exp.Runs[1].Invalid})
	}
	mu.Lock()
	defer mu.Unlock()
	for row, n := range seen {
		if n != 1 {
			t.Errorf("row %s was sent %d times", row, n)
		}
	}
	if len(seen) != rows {
		t.Errorf("%d of %d rows were sent", len(seen), rows)
	}
}

// Variants that take turns get new processes when their rows are used up.
func TestTurnsBeginAgainWithTheFirstRow(t *testing.T) {
	t.Parallel()
	const rows, rate = 2000, 1000 // enough for two slices of a process
	sc := twoBurns(t)
	sc.Load.URL += "?${row.n}"
	sc.Load.Feeder, sc.Load.Once, sc.Load.MaxRate = &workload.Feeder{File: rowsFile(t, rows)}, true, rate
	exp, err := until(t, sc, func(s []record.Slice) bool { return s[len(s)-1].Generation == 2 })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	sent := map[string]int64{}
	for _, s := range exp.Slices {
		sent[fmt.Sprint(s.Generation, s.Role, s.Variant)] += s.Offered
	}
	for process, n := range sent {
		if n > rows {
			t.Errorf("process %s was sent %d requests of %d rows", process, n, rows)
		}
	}
	if !strings.Contains(strings.Join(exp.Warnings, "\n"), "corpus used up") {
		t.Errorf("warnings %q", exp.Warnings)
	}
}

// Rates and counts are in units, of which the target receives several as an array.
func TestRequestsOfSeveralUnits(t *testing.T) {
	const units, rate = 4, 200
	var mu sync.Mutex
	arrays := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var calls []struct{ N, Row int }
		if err := json.NewDecoder(r.Body).Decode(&calls); err != nil || len(calls) != units || calls[3].N != 3 || calls[3].Row != calls[0].Row+3 {
			t.Errorf("%v, %v; want %d calls with rows of their own", calls, err, units)
		}
		arrays++
		io.WriteString(w, `[{"result":1},{"result":1},{},{"result":1}]`)
	}))
	defer server.Close()
	sc, err := scenario.Parse("x.yaml", fmt.Appendf(nil, `
name: arrays
target: {url: "%s"}
load:
  url: "%[1]s"
  body: '{"N":${n},"Row":${row.n}}'
  repeat: %d
  array: true
  units: %[2]d
  feeder: {file: %q}
  once: true
  check: {json: [{path: "*.result", exists: true}]}
  schedule: {kind: constant, rate: %d}
measure: {length: 1s, warmup: 200ms}
`, server.URL, units, rowsFile(t, 1000), rate))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	r := exp.Runs[0]
	if offered := r.Totals.Offered; offered != rate || r.Totals.Errors["check"] != rate/units || r.Load.Units != units {
		t.Errorf("%d units offered, %d failed their check, %d units in a request", offered, r.Totals.Errors["check"], r.Load.Units)
	}
	if want := int(1.2 * rate / units); arrays != want {
		t.Errorf("%d arrays arrived, want %d", arrays, want)
	}
	if !strings.Contains(strings.Join(exp.Warnings, "\n"), "a request carries 4 units of work") {
		t.Errorf("warnings %q", exp.Warnings)
	}
}

// Variants that are started for each visit begin with the first row each time.
func TestExclusiveVisitsBeginWithTheFirstRow(t *testing.T) {
	t.Parallel()
	const rows, rate = 20_000, 1000 // enough for a visit
	sc := twoBurns(t)
	sc.Exclusive = true
	sc.Load.URL += "?${row.n}"
	sc.Load.Feeder, sc.Load.Once, sc.Load.MaxRate = &workload.Feeder{File: rowsFile(t, rows)}, true, rate
	exp, err := until(t, sc, func(s []record.Slice) bool { return s[len(s)-1].Block == 2 })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, s := range exp.Slices {
		if s.Invalid != "" || s.Offered == 0 || s.Failed > 0 {
			t.Errorf("visit %d of %s: offered %d, failed %d, %s", s.Block, s.Variant, s.Offered, s.Failed, s.Invalid)
		}
	}
	if len(exp.Warnings) > 0 && strings.Contains(strings.Join(exp.Warnings, "\n"), "corpus used up") {
		t.Errorf("warnings %q", exp.Warnings)
	}
}

// A sweep starts a process for each run, which begins with the first row.
func TestRunsOfASweepBeginWithTheFirstRow(t *testing.T) {
	t.Parallel()
	const rows, rate = 150, 100 // enough for a run
	sc := twoBurns(t)
	sc.Mode = record.KindSweep
	sc.Load.URL += "?${row.n}"
	sc.Load.Feeder, sc.Load.Once = &workload.Feeder{File: rowsFile(t, rows)}, true
	sc.Load.Schedule.Kind = workload.Constant
	sc.Measure = scenario.Measure{Rates: []float64{rate}, Length: time.Second, Warmup: 100 * time.Millisecond, Rounds: 2}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), NoPMQoS: true})
	if err != nil && !errors.Is(err, ErrUnfit) { // others may use the machine
		t.Fatal(err)
	}
	if len(exp.Runs) < 4 {
		t.Errorf("%d runs", len(exp.Runs))
	}
	for _, r := range exp.Runs {
		if strings.Contains(r.Invalid, "corpus") || r.Totals.Offered == 0 {
			t.Errorf("%s: offered %d, %s", r.ID, r.Totals.Offered, r.Invalid)
		}
	}
}

package experiment

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyno/lab/experiment/experimenttest"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

var burn = sync.OnceValues(func() (string, error) {
	return experimenttest.Build("burn")
})

// twoBurns compares two variants of subjects/burn, one of which costs twice as much.
func twoBurns(t *testing.T) *scenario.Scenario {
	t.Helper()
	quicktest.Skip(t, "loads processes for seconds")
	binary, err := burn()
	if err != nil {
		t.Fatal(err)
	}
	sc := &scenario.Scenario{Name: "burns", Mode: record.KindCompare, SLO: record.SLO{Latency: map[string]float64{"p99": 50}, Errors: 0.01}}
	sc.Target.Command = []string{binary, "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--iterations", "200"}
	sc.Load.URL = "http://${target.listen}/"
	sc.Load.Connections = 4
	sc.Variants = []scenario.Variant{{Name: "one", Args: []string{"--factor", "1"}}, {Name: "two", Args: []string{"--factor", "2"}}}
	return sc
}

// ample is a budget that no test uses up: each test ends by the slices that it has seen.
const ample = 10 * time.Minute

// until carries out a scenario until enough returns true for its slices.
func until(t *testing.T, sc *scenario.Scenario, enough func([]record.Slice) bool) (*record.Experiment, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []record.Slice
	return Execute(ctx, Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Budget: ample, NoPMQoS: true, Progress: afterSlice{call: func(s record.Slice) {
		if seen = append(seen, s); enough(seen) {
			cancel()
		}
	}}})
}

// afterSlice is a Progress that calls a function after every slice.
type afterSlice struct {
	silent
	call func(record.Slice)
}

func (a afterSlice) Slice(s record.Slice, _ time.Duration) { a.call(s) }

// placesOf counts the slices by role, variant and kind.
func placesOf(exp *record.Experiment) map[string]int {
	out := map[string]int{}
	for _, s := range exp.Slices {
		out[s.Role+" "+s.Variant+" "+s.Kind]++
	}
	return out
}

// Variants that are up together take turns: each round visits each once, in both kinds of slice,
// and the baseline has a control. The folder contains what was recorded.
func TestTurns(t *testing.T) {
	t.Parallel()
	exp, err := Execute(t.Context(), Options{Scenario: twoBurns(t), Out: filepath.Join(t.TempDir(), "out"), Budget: ample, Samples: 1, NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	if exp.Outcome.Status != record.OutcomeComplete && !strings.Contains(exp.Outcome.Reason, "generator") {
		t.Errorf("outcome %+v", exp.Outcome)
	}
	counts := placesOf(exp)
	for _, want := range []string{"measure one work", "measure two work", "floor one work", "measure one slo", "measure two slo"} {
		if counts[want] == 0 {
			t.Errorf("no slice of %s: %v", want, counts)
		}
	}
	if counts["floor one slo"] > 0 {
		t.Error("the control has a capacity of its own")
	}
	visited := map[string]bool{}
	for _, s := range exp.Slices {
		key := s.Role + s.Variant + strconv.Itoa(s.Block)
		if visited[key] {
			t.Errorf("block %d visited %s twice", s.Block, s.Variant)
		}
		visited[key] = true
		if s.Invalid == "" && (s.Served == 0 || s.Served > s.Offered || s.Length <= 0 || s.TargetCPU <= 0 || s.GeneratorCPU <= 0) {
			t.Errorf("a slice that counts is not complete: %+v", s)
		}
		if s.Kind == record.SliceSLO && s.Allocs < 0 {
			t.Errorf("the agent's allocations are missing: %+v", s)
		}
	}
	again, err := folder.Open(exp.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Slices) != len(exp.Slices) || again.Ended() != *exp.Outcome || again.Budget != ample {
		t.Errorf("read again: %d of %d slices, outcome %+v, budget %v", len(again.Slices), len(exp.Slices), again.Ended(), again.Budget)
	}
	if left, _ := os.ReadDir(filepath.Join(exp.Dir, "turns", "1-one", "scratch")); left != nil {
		t.Error("the scratch folder was left behind")
	}
}

// Variants that cannot be up together are started for each visit.
func TestExclusiveTurns(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	sc.Exclusive = true
	exp, err := until(t, sc, func(s []record.Slice) bool { return s[len(s)-1].Block == 2 })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	last := ""
	var order []string
	for _, s := range exp.Slices {
		if key := s.Role + s.Variant + strconv.Itoa(s.Block); key != last {
			order, last = append(order, key), key
		}
	}
	seen := map[string]bool{}
	for _, key := range order {
		if seen[key] {
			t.Errorf("%s was up twice in a block: %v", key, order)
		}
		seen[key] = true
	}
	if len(order) < 4 {
		t.Errorf("only %v took a turn", order)
	}
}

// An interrupted experiment keeps what was measured, and its record says that it was interrupted.
func TestTurnsInterrupted(t *testing.T) {
	t.Parallel()
	exp, err := until(t, twoBurns(t), func(s []record.Slice) bool { return len(s) == 3 })
	if !errors.Is(err, context.Canceled) || exp.Ended().Status != record.OutcomeInterrupted || len(exp.Slices) != 3 {
		t.Errorf("%v; outcome %+v, %d slices", err, exp.Ended(), len(exp.Slices))
	}
}

// A variant whose process dies is no longer measured; the others continue.
func TestDyingVariantIsGivenUp(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	b, _ := burn()
	pids := filepath.Join(t.TempDir(), "pid")
	sc.Variants[1] = scenario.Variant{Name: "dies", Command: []string{"sh", "-c", `echo $$$$ > "$1"; shift; exec "$@"`, "sh", pids, b, "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--iterations", "200"}}
	killed := 0 // number of slices before the process was killed
	exp, err := until(t, sc, func(s []record.Slice) bool {
		if killed == 0 {
			text, _ := os.ReadFile(pids)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil || pid <= 1 {
				t.Errorf("the process wrote %q as its pid", text)
				return true
			}
			syscall.Kill(pid, syscall.SIGKILL)
			killed = len(s)
		}
		lives, failed := 0, 0
		for _, s := range s[killed:] {
			switch {
			case s.Variant == "one" && s.Invalid == "":
				lives++
			case s.Variant == "dies" && s.Invalid != "":
				failed++
			}
		}
		return lives >= 12 && failed >= 3 // which is as many as it may have in a row
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(exp.Warnings, "\n"), "dies is no longer measured") {
		t.Errorf("warnings %q", exp.Warnings)
	}
}

// Variants that cannot bind their address while another is up take turns as whole processes.
func TestTurnsAtATakenAddress(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sc.Target.Command[2] = l.Addr().String()
	l.Close()
	exp, err := until(t, sc, func(all []record.Slice) bool { return len(all) > 0 })
	if exp == nil || len(exp.Slices) == 0 {
		t.Fatalf("%v, %v", exp, err)
	}
	if !sc.Exclusive {
		t.Error("the variants ran side by side at one address")
	}
}

// In a comparison of several variants, one that never starts is left out, and the others are
// compared.
func TestTurnsWithoutOneThatNeverStarts(t *testing.T) {
	t.Parallel()
	sc := twoBurns(t)
	sc.SLO = record.SLO{}
	sc.Variants = []scenario.Variant{sc.Variants[0], {Name: "wrong", Args: []string{"--no-such-flag"}}, sc.Variants[1]}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Budget: ample, Samples: 1, NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	counts := placesOf(exp)
	if counts["measure two work"] == 0 || counts["measure wrong work"] > 0 || !strings.Contains(strings.Join(exp.Warnings, "\n"), "wrong is no longer measured") {
		t.Errorf("%v, warnings %q", counts, exp.Warnings)
	}
}

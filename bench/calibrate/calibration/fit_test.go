package calibration

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"dyno/lab/diagnose/rules"

	"pgregory.net/rapid"
)

const (
	allocating  = "allocating" // share of the CPU profile at which GC and allocation bound a server
	lockWaiting = "lock_waiting"
)

func near(got, want float64) bool { return math.Abs(got-want) < 1e-9 }

// Between 0.1, which must not pass, and 0.9, which must, the threshold moves to 0.3.
func TestFitMovesToTheMiddleOfTheGap(t *testing.T) {
	cases := []Case{computing("hash", 0.1), computing("sort", 0.05), collecting("churn", 0.9), collecting("strings", 0.95)}
	room := Rooms(cases, rules.Defaults)[allocating]
	if !near(room.Low, 0.1) || !near(room.High, 0.9) || room.LowBy != "hash" || room.HighBy != "churn" {
		t.Errorf("room %+v, want 0.1 by hash to 0.9 by churn", room)
	}
	prior := maps.Clone(rules.Defaults)
	fitted := fit(read(cases), rules.Defaults)
	if got := fitted[allocating].Value; !near(got, 0.3) {
		t.Errorf("fitted to %g, want 0.3", got)
	}
	if !maps.Equal(prior, rules.Defaults) {
		t.Error("the prior itself was changed")
	}
}

func TestFitLeaves(t *testing.T) {
	for name, cases := range map[string][]Case{
		"bounded from below only": {computing("hash", 0.1), computing("sort", 0.2)},
		"bounded from above only": {collecting("churn", 0.9)},
		"no case":                 nil,
		"an overlap":              {computing("hash", 0.6), collecting("churn", 0.3)},
		"a signal of nothing":     {computing("hash", 0), collecting("churn", 0.9)},
	} {
		if got := fit(read(cases), rules.Defaults)[allocating]; got != rules.Defaults[allocating] {
			t.Errorf("%s: moved to %g", name, got.Value)
		}
	}
}

// A signal that could not be measured must not move a threshold.
func TestFitLeavesHiddenCasesOut(t *testing.T) {
	blind := collecting("churn", 0.12)
	blind.Hidden = true
	cases := []Case{computing("hash", 0.1), collecting("strings", 0.9), blind}
	if got := fit(read(cases), rules.Defaults)[allocating].Value; !near(got, 0.3) {
		t.Errorf("fitted to %g, want 0.3", got)
	}
}

// Several rules name the same bound; a case needs only one of them. A server that waits for its
// pool need not fill its accept queue, nor one that spins on a lock wait for it.
func TestOneRuleIsAskedFor(t *testing.T) {
	idle := rules.Signals{rules.Utilisation: 0.3, rules.Occupied: 1, rules.AcceptQueue: 0.01, rules.WaitTop: 0.9}
	spun := rules.Signals{rules.Utilisation: 0.95, rules.Occupied: 1, rules.LockWait: 0.1, rules.LockSpin: 0.4}
	missed := rules.Signals{rules.Utilisation: 0.3, rules.Occupied: 1, rules.AcceptQueue: 0.01, rules.WaitTop: 0.45}
	for _, c := range []struct {
		name  string
		truth rules.Bottleneck
		s     rules.Signals
		asked string  // a threshold that the signal must reach
		at    float64 // the signal
		not   string  // a threshold that it need not reach
	}{
		{"a pool", rules.Wait, idle, "waiting", 0.9, "accepting"},
		{"a spinning lock", rules.Lock, spun, "spinning", 0.4, lockWaiting},
		{"a wait that was missed", rules.Wait, missed, "waiting", 0.45, "accepting"},
	} {
		got := rooms([]reading{{Case{Server: "s", Truth: []rules.Bottleneck{c.truth}}, c.s}}, rules.Defaults)
		if got[c.asked].High != c.at || got[c.not].HighBy != "" {
			t.Errorf("%s: %s has %+v, %s has %+v", c.name, c.asked, got[c.asked], c.not, got[c.not])
		}
	}
}

// For a rule that must not hold, only the condition that alone prevents it bounds its threshold:
// the others are free.
func TestOneConditionDecides(t *testing.T) {
	quiet := rules.Signals{rules.Utilisation: 0.95, rules.Occupied: 1, rules.Neighbours: 0.01, rules.Delayed: 0.5}
	both := rules.Signals{rules.Utilisation: 0.95, rules.Occupied: 1, rules.Neighbours: 0.01, rules.Delayed: 0.01}
	of := func(s rules.Signals) map[string]Room {
		return rooms([]reading{{Case{Server: "s", Truth: []rules.Bottleneck{rules.CPU}}, s}}, rules.Defaults)
	}
	if got := of(quiet); got["neighbours"].LowBy != "s" || got["delayed"].LowBy != "" {
		t.Errorf("%+v", got)
	}
	if got := of(both); got["neighbours"].LowBy != "" || got["delayed"].LowBy != "" {
		t.Errorf("two conditions keep the rule from holding, and yet %+v", got)
	}
}

// Two thresholds that may each move must not both move if together they let a wrong rule hold.
func TestThresholdsMoveOneAfterTheOther(t *testing.T) {
	of := func(truth rules.Bottleneck, neighbours, delayed float64) reading {
		return reading{Case{Truth: []rules.Bottleneck{truth}}, rules.Signals{rules.Utilisation: 0.3, rules.Occupied: 1,
			rules.Allocating: 0.1, rules.Neighbours: neighbours, rules.Delayed: delayed}}
	}
	between := of(rules.Unknown, 0.06, 0.015)
	readings := []reading{of(rules.Environment, 0.12, 0.5), of(rules.Unknown, 0.01, 0.5),
		of(rules.Environment, 0.5, 0.03), of(rules.Unknown, 0.5, 0.001), between}
	fitted := fit(readings, rules.Defaults)
	for _, name := range []string{"neighbours", "delayed"} {
		if fitted[name].Value >= rules.Defaults[name].Value {
			t.Errorf("%s stayed at %g: this shows nothing", name, fitted[name].Value)
		}
	}
	if bound, _, _ := fitted.Decide(between.signals); bound != rules.Unknown {
		t.Errorf("what others took and how long the server waited now make it %s", bound)
	}
}

// signalNames are the names of the rules' signals, in order.
func signalNames() []string {
	names := map[string]bool{}
	for _, r := range rules.All {
		for _, c := range r.When {
			names[c.Signal] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// For any cases: those that the rules judge right before a fit stay right after it.
func TestFitSpoilsNoCase(t *testing.T) {
	bounds := []rules.Bottleneck{rules.CPU, rules.GC, rules.Lock, rules.Syscall, rules.Wait,
		rules.Generator, rules.Environment, rules.NotLoaded}
	names, moved, checked := signalNames(), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var readings []reading
		for i := range rapid.IntRange(1, 12).Draw(t, "cases") {
			r := reading{Case{Server: fmt.Sprint(i)}, rules.Signals{}}
			for _, name := range names {
				if rapid.IntRange(0, 3).Draw(t, name+" seen") > 0 {
					r.signals[name] = rapid.Float64Range(0, 1).Draw(t, name)
				}
			}
			bound, _, _ := rules.Defaults.Decide(r.signals)
			if bound == rules.Unknown || rapid.IntRange(0, 3).Draw(t, "surprises") == 0 {
				bound = rapid.SampledFrom(bounds).Draw(t, "truth")
			}
			r.Truth = []rules.Bottleneck{bound}
			readings = append(readings, r)
		}
		fitted := fit(readings, rules.Defaults)
		if !maps.Equal(fitted, rules.Defaults) {
			moved++
		}
		for _, r := range readings {
			before, _, _ := rules.Defaults.Decide(r.signals)
			after, _, _ := fitted.Decide(r.signals)
			if slices.Contains(r.Truth, before) {
				checked++
				if !slices.Contains(r.Truth, after) {
					t.Fatalf("%v was judged right and is now %s: %v", r.Truth, after, r.signals)
				}
			}
		}
	})
	if moved == 0 || checked == 0 {
		t.Errorf("%d fits moved a threshold, %d cases were right before: this shows nothing", moved, checked)
	}
}

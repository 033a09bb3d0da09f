package calibration

import (
	"maps"
	"slices"
	"testing"

	"dyno/lab/diagnose/rules"
)

// A server must not help to set the thresholds that judge it: one whose family alone would set a
// threshold so that it is right is judged by the prior.
func TestOutsiderLeavesTheFamilyOut(t *testing.T) {
	// Both bounds of the lock's threshold, 0.1 and 0.4 of 32 clients, come from one family; by the
	// prior, 0.5, "many" is not known to be bound by a lock. "few" is bound by nothing that has a
	// name.
	few, many := made("few", rules.Unknown, figures{cpu: 1, lock: 0.1 * 32}), locked("many", 0.4*32)
	few.Family, many.Family = "lock", "lock"
	cases := []Case{few, many, computing("hash", 0.1), collecting("churn", 0.9)}
	if got := fit(read(cases), rules.Defaults)[lockWaiting].Value; !near(got, 0.2) {
		t.Fatalf("all cases fit the lock's threshold to %g, want 0.2: the test would show nothing", got)
	}
	if got := outcomes(Insider(cases, fit(read(cases), rules.Defaults))); slices.ContainsFunc(got, func(o Outcome) bool { return o != Right }) {
		t.Fatalf("fitted to all: %v", got)
	}
	judged := Outsider(cases, rules.Defaults)
	if judged[1].Outcome == Right {
		t.Errorf("a server of a family that alone sets a threshold was judged by that threshold: %s", judged[1].Verdict.Bottleneck)
	}
	if judged[2].Outcome != Right || judged[3].Outcome != Right {
		t.Errorf("%v", outcomes(judged))
	}
	// Fixed cases set no threshold, and are judged by the prior.
	many.Fixed = true
	if judged := Outsider([]Case{few, many, made("idle", rules.Unknown, figures{cpu: 1, lock: 0.05 * 32}), locked("other", 0.45*32)}, rules.Defaults); judged[1].Outcome == Right {
		t.Errorf("a fixed case was judged by the other families' threshold")
	}
	many.Fixed = false
	// The other families set it as well: then a server of this one is judged by what they set.
	spread := []Case{few, many, made("idle", rules.Unknown, figures{cpu: 1, lock: 0.05 * 32}), locked("other", 0.45*32)}
	if judged := Outsider(spread, rules.Defaults); judged[1].Outcome != Right {
		t.Errorf("by the other families' threshold: %s", judged[1].Verdict.Bottleneck)
	}
}

func outcomes(judged []Judged) []Outcome {
	var out []Outcome
	for _, j := range judged {
		out = append(out, j.Outcome)
	}
	return out
}

func TestOutcomes(t *testing.T) {
	hidden := func(c Case) Case { c.Hidden = true; return c }
	kind := func(c Case, k string) Case { c.Kind = k; return c }
	or := func(c Case, also rules.Bottleneck) Case { c.Truth = append(c.Truth, also); return c }
	unseen := made("waits", rules.Wait, figures{cpu: 0.2}) // and no signal shows it
	beside := func(c Case) Case {
		for _, r := range append(c.Subject.Saturated, c.Subject.Profiled) {
			r.System.OthersCPU, r.System.TargetDelay = 0.7, 0.5
		}
		return c
	}
	crowded := beside(made("waits", rules.Wait, figures{cpu: 0.2}))
	for _, c := range []struct {
		name string
		Case
		want Outcome
	}{
		{"right", computing("hash", 0.1), Right},
		{"the second truth", or(collecting("mixed", 0.1), rules.CPU), Right},
		{"wrong", collecting("churn", 0.1), Wrong},
		{"right, of another kind", kind(computing("hash", 0.1), rules.Threaded), Wrong},
		{"not known", unseen, Unknown},
		{"nothing but neighbours is known", crowded, Unknown},
		{"right beside neighbours", beside(computing("hash", 0.1)), Right},
		{"not known, and not to be seen", hidden(unseen), Right},
		{"wrong although it could not be seen", hidden(collecting("churn", 0.1)), Wrong},
		{"right although it could not be seen", hidden(collecting("churn", 0.9)), Right},
	} {
		if got := Insider([]Case{c.Case}, rules.Defaults)[0]; got.Outcome != c.want {
			t.Errorf("%s: %s (%s)", c.name, got.Outcome, got.Verdict.Bottleneck)
		}
	}
}

// The cause is named by its function or a closure in it, not by another function with the same
// prefix.
func TestPlaced(t *testing.T) {
	for function, want := range map[string]bool{
		"main.(*shop).price":       true, // the samples are in its closure
		"main.(*shop).price.func1": true,
		"":                         true, // any will do
		"main.(*shop).pri":         false,
		"main.(*shop).total":       false,
	} {
		c := computing("hash", 0.1)
		c.Function = function
		if got := Insider([]Case{c}, rules.Defaults)[0]; got.Placed != want {
			t.Errorf("%q among %+v: %v", function, got.Verdict.Sites, got.Placed)
		}
	}
}

// A right verdict that other processes may have influenced counts as unconfirmed.
func TestUnconfirmed(t *testing.T) {
	c := computing("hash", 0.1)
	if n := Unconfirmed(Insider([]Case{c}, rules.Defaults)); n != 0 {
		t.Errorf("%d unconfirmed on a quiet machine", n)
	}
	c.Subject.Saturated[0].System.OthersCPU, c.Subject.Saturated[0].System.TargetDelay = 0.7, 0.5
	judged := Insider([]Case{c}, rules.Defaults)
	if n := Unconfirmed(judged); n != 1 || judged[0].Outcome != Right {
		t.Errorf("%d unconfirmed beside a neighbour, %s", n, judged[0].Outcome)
	}
}

func TestTallyAndConfusion(t *testing.T) {
	mixed := computing("mixed", 0.1)
	mixed.Truth = []rules.Bottleneck{rules.GC, rules.CPU}
	judged := Insider([]Case{computing("hash", 0.1), computing("sort", 0.9), collecting("churn", 0.9), collecting("none", 0.1),
		made("waits", rules.Wait, figures{cpu: 0.2}), mixed}, rules.Defaults)
	if got, want := Tally(judged), map[Outcome]int{Right: 3, Wrong: 2, Unknown: 1}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	m := Confusion(judged)
	for truth, row := range map[rules.Bottleneck]map[rules.Bottleneck]int{
		// the mixed one counts under the verdict given
		rules.CPU:  {rules.CPU: 2, rules.GC: 1},
		rules.GC:   {rules.GC: 1, rules.CPU: 1},
		rules.Wait: {rules.Unknown: 1},
	} {
		if !maps.Equal(m.Counts[truth], row) {
			t.Errorf("%s: %v, want %v", truth, m.Counts[truth], row)
		}
	}
	if want := []rules.Bottleneck{rules.CPU, rules.GC, rules.Wait}; !slices.Equal(m.Truths, want) {
		t.Errorf("rows %v, want %v", m.Truths, want)
	}
	if want := []rules.Bottleneck{rules.CPU, rules.GC, rules.Wait, rules.Unknown}; !slices.Equal(m.Verdicts, want) {
		t.Errorf("columns %v, want %v", m.Verdicts, want)
	}
	if got := Confusion(nil); len(got.Truths) != 0 || len(got.Verdicts) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

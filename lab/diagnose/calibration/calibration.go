// Package calibration judges the diagnosis itself: on servers whose bound is known, how often is the verdict
// right, and how often is it honestly unknown rather than wrong? Thresholds that were set with a server can
// only be expected to get that server right, so each family of servers is judged by thresholds that were
// fitted to the other families (Outsider).
//
// It is pure: the servers are run by experiment/calibrate. It starts no goroutines.
package calibration

import (
	"slices"
	"strings"

	"dyno/lab/diagnose"
)

// Case is one server, run once.
type Case struct {
	Server string
	Family string
	// Truth is what bounds it; any of these is right, the first is the one meant.
	Truth []diagnose.Bound
	// Function must be among the places that are named; empty: any will do.
	Function string
	Inside   string // what there was to look into: agent | pprof | none
	// Hidden says that with what there was to look into, the truth could not be seen: not to know is right.
	Hidden  bool
	Seed    uint64 // of its parameters
	Subject diagnose.Subject
	Seconds float64 // it took
}

// Outcome is how a verdict turned out.
type Outcome string

// Outcomes.
const (
	Right   Outcome = "right"   // confirmed or not
	Unknown Outcome = "unknown" // no cause was named: others took too much of the machine, or the evidence did not suffice
	Wrong   Outcome = "wrong"
)

// Judged is a case and what was said of it.
type Judged struct {
	Case
	Verdict diagnose.Diagnosis
	Outcome Outcome
	// Placed says that the function that is the cause was named.
	Placed bool
}

// judge applies thresholds to a case.
func judge(c Case, t diagnose.Thresholds) Judged {
	d := c.Subject.Diagnose(t)
	j := Judged{Case: c, Verdict: d, Outcome: Wrong, Placed: c.Function == ""}
	switch {
	case slices.Contains(c.Truth, d.Bound):
		j.Outcome = Right
	case d.Bound == diagnose.Unknown && c.Hidden:
		j.Outcome = Right
	case d.Bound == diagnose.Unknown, d.Bound == diagnose.Environment:
		j.Outcome = Unknown
	}
	for _, p := range d.Where {
		// A closure belongs to the function that it stands in.
		if p.Function == c.Function || strings.HasPrefix(p.Function, c.Function+".func") {
			j.Placed = true
		}
	}
	return j
}

// Insider judges every case by the same thresholds.
func Insider(cases []Case, t diagnose.Thresholds) []Judged {
	var out []Judged
	for _, c := range cases {
		out = append(out, judge(c, t))
	}
	return out
}

// Outsider judges each case by thresholds that were fitted to the other families, starting from the prior.
func Outsider(cases []Case, prior diagnose.Thresholds) []Judged {
	readings := read(cases)
	fitted := map[string]diagnose.Thresholds{}
	var out []Judged
	for _, c := range cases {
		t, known := fitted[c.Family]
		if !known {
			t = fit(slices.DeleteFunc(slices.Clone(readings), func(o reading) bool { return o.Family == c.Family }), prior)
			fitted[c.Family] = t
		}
		out = append(out, judge(c, t))
	}
	return out
}

// Unconfirmed is how many of the right verdicts say that neighbours may have had a part in it.
func Unconfirmed(judged []Judged) (n int) {
	for _, j := range judged {
		if j.Outcome == Right && !j.Verdict.Confirmed && j.Verdict.Bound != diagnose.Unknown {
			n++
		}
	}
	return n
}

// Tally counts outcomes.
func Tally(judged []Judged) map[Outcome]int {
	out := map[Outcome]int{}
	for _, j := range judged {
		out[j.Outcome]++
	}
	return out
}

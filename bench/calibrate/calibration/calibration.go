// Package calibration measures the quality of the diagnosis: on servers whose bottleneck is known,
// how often is the verdict right, and how often unknown rather than wrong? Thresholds fitted to a
// server say nothing about other servers, so each family of servers is judged by thresholds fitted
// to the other families (Outsider). Prediction compares what a change can bring at most with what
// it brought.
//
// It is not for running the servers: package suite does. It starts no goroutines.
package calibration

import (
	"slices"
	"strings"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
)

// Case is one run of one server.
type Case struct {
	Server string
	Family string
	// Truth is the server's bottleneck; any of these is right, the first is the intended one.
	Truth []rules.Bottleneck
	// Kind must be the verdict's; empty: any.
	Kind string
	// Fixed cases are judged by the thresholds in use, and none is fitted to them: too few families
	// are bound in their way.
	Fixed bool
	// Function must be among the places named; empty: any.
	Function string
	Inside   string // source of profiles: agent | pprof | none
	// Hidden means that this source cannot show the truth: Unknown is right.
	Hidden  bool
	Seed    uint64 // of the server's parameters
	Subject diagnose.Subject
	Seconds float64 // duration of the run
}

// Outcome is the quality of a verdict.
type Outcome string

// Outcomes.
const (
	Right Outcome = "right" // confirmed or not
	// no cause was named: other processes took too much of the machine, or the evidence did not
	// suffice
	Unknown Outcome = "unknown"
	Wrong   Outcome = "wrong"
)

// Judged is a case with its verdict.
type Judged struct {
	Case
	Verdict diagnose.Diagnosis
	Outcome Outcome
	// Placed means that the function that is the cause was named.
	Placed bool
}

func judge(c Case, t rules.Thresholds) Judged {
	d := c.Subject.Diagnose(t)
	j := Judged{Case: c, Verdict: d, Outcome: Wrong, Placed: c.Function == ""}
	switch {
	case slices.Contains(c.Truth, d.Bottleneck) && (c.Kind == "" || c.Kind == d.Kind):
		j.Outcome = Right
	case d.Bottleneck == rules.Unknown && c.Hidden:
		j.Outcome = Right
	case d.Bottleneck == rules.Unknown, d.Bottleneck == rules.Environment:
		j.Outcome = Unknown
	}
	for _, p := range d.Sites {
		// A closure belongs to the function that contains it.
		if p.Function == c.Function || strings.HasPrefix(p.Function, c.Function+".func") {
			j.Placed = true
		}
	}
	return j
}

// Insider judges every case by the same thresholds.
func Insider(cases []Case, t rules.Thresholds) []Judged {
	var out []Judged
	for _, c := range cases {
		out = append(out, judge(c, t))
	}
	return out
}

// Outsider judges each case by thresholds fitted to the other families, starting from the prior. A
// fixed one is judged by the prior.
func Outsider(cases []Case, prior rules.Thresholds) []Judged {
	readings := slices.DeleteFunc(read(cases), func(r reading) bool { return r.Fixed })
	fitted := map[string]rules.Thresholds{}
	var out []Judged
	for _, c := range cases {
		t, known := fitted[c.Family]
		switch {
		case c.Fixed:
			t = prior
		case !known:
			t = fit(slices.DeleteFunc(slices.Clone(readings), func(o reading) bool { return o.Family == c.Family }), prior)
			fitted[c.Family] = t
		}
		out = append(out, judge(c, t))
	}
	return out
}

// Disturbed reports whether other processes may have influenced a verdict, so that it is unconfirmed.
func (j Judged) Disturbed() bool {
	return j.Verdict.Disturbed != "" && !j.Verdict.Confirmed && j.Verdict.Bottleneck != rules.Unknown
}

// Unconfirmed is how many of the right verdicts other processes may have influenced.
func Unconfirmed(judged []Judged) (n int) {
	for _, j := range judged {
		if j.Outcome == Right && j.Disturbed() {
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

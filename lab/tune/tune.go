// Package tune plans a search for settings that make a program faster than its start configuration.
// It tries single changes first, drops those that cannot be worth it, measures the better half of
// the others again, and combines the best ones. The gain of the chosen change must be proved on
// fresh data, since the best of many estimates is too high.
//
// It is not for measuring (lab/experiment/tuning) nor for the proof (compare), and it does no I/O.
// It starts no goroutines.
package tune

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// Kinds of change.
const (
	Runtime = "runtime" // an environment variable of the Go runtime
	Setting = "setting" // a setting or a seam that the service declares: --set NAME=VALUE
	PGO     = "pgo"     // a build with the recorded CPU profile
)

// Change is one difference from the start configuration.
type Change struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"` // GOGC, workers, pgo
	Value string `json:"value,omitempty"`
}

func (c Change) String() string {
	if c.Kind == PGO {
		return "pgo"
	}
	return c.Name + "=" + c.Value
}

// Candidate is the start configuration with some changes, each of a different setting.
type Candidate []Change

func (c Candidate) String() string {
	words := make([]string, len(c))
	for i, change := range c {
		words[i] = change.String()
	}
	return strings.Join(words, " ")
}

// joined returns a candidate with the changes of both; false: they change the same setting.
func (c Candidate) joined(other Candidate) (Candidate, bool) {
	for _, x := range other {
		if slices.ContainsFunc(c, func(y Change) bool { return y.Name == x.Name }) {
			return nil, false
		}
	}
	return slices.Concat(c, other), true
}

// Search is a finished search, with its experiments.
type Search struct {
	Scenario string // name
	Start    string // the variant that the changes apply to
	Metric   string // compare.Metric...
	Trials   []Trial
	Chosen   Candidate // nil: no candidate seemed worth a proof
	// Look is the first experiment, which measures the start alone. Proof compares the start with
	// Chosen on fresh data. nil: it was not measured.
	Look, Proof *record.Experiment
	// Memory is the target's resident memory in the proof, in bytes; 0: not known.
	Memory struct{ Start, Chosen int64 }
	Build  string   // Go package of the target; empty: a command
	Notes  []string // what the search could not try, such as a whole kind of change, and why
}

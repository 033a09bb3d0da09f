package calibration

import (
	"slices"

	"dyno/lab/diagnose/rules"
)

// Matrix counts verdicts (columns) per truth (rows).
type Matrix struct {
	Truths   []rules.Bound
	Verdicts []rules.Bound
	Counts   map[rules.Bound]map[rules.Bound]int
}

// order is the order of the rows and columns.
var order = []rules.Bound{rules.CPU, rules.GC, rules.Lock, rules.Syscall, rules.Wait,
	rules.Generator, rules.Environment, rules.NotLoaded, rules.Unknown}

// Confusion counts verdicts by truth. A case with several right answers counts under the verdict if
// that is one of them.
func Confusion(judged []Judged) Matrix {
	m := Matrix{Counts: map[rules.Bound]map[rules.Bound]int{}}
	seen := map[rules.Bound]bool{}
	for _, j := range judged {
		truth := j.Truth[0]
		if slices.Contains(j.Truth, j.Verdict.Bound) {
			truth = j.Verdict.Bound
		}
		if m.Counts[truth] == nil {
			m.Counts[truth] = map[rules.Bound]int{}
		}
		m.Counts[truth][j.Verdict.Bound]++
		seen[j.Verdict.Bound] = true
	}
	for _, b := range order {
		if m.Counts[b] != nil {
			m.Truths = append(m.Truths, b)
		}
		if seen[b] || m.Counts[b] != nil {
			m.Verdicts = append(m.Verdicts, b)
		}
	}
	return m
}

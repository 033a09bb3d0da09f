package calibration

import (
	"slices"

	"dyno/lab/diagnose"
)

// Matrix counts verdicts (columns) per truth (rows).
type Matrix struct {
	Truths   []diagnose.Bound
	Verdicts []diagnose.Bound
	Counts   map[diagnose.Bound]map[diagnose.Bound]int
}

// order is the order of the rows and columns.
var order = []diagnose.Bound{diagnose.CPU, diagnose.GC, diagnose.Lock, diagnose.Syscall, diagnose.Wait,
	diagnose.Generator, diagnose.Environment, diagnose.NotLoaded, diagnose.Unknown}

// Confusion counts verdicts by truth. A case with several right answers counts under the verdict if
// that is one of them.
func Confusion(judged []Judged) Matrix {
	m := Matrix{Counts: map[diagnose.Bound]map[diagnose.Bound]int{}}
	seen := map[diagnose.Bound]bool{}
	for _, j := range judged {
		truth := j.Truth[0]
		if slices.Contains(j.Truth, j.Verdict.Bound) {
			truth = j.Verdict.Bound
		}
		if m.Counts[truth] == nil {
			m.Counts[truth] = map[diagnose.Bound]int{}
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

package calibration

import (
	"slices"

	"dyno/lab/diagnose/rules"
)

// Matrix counts verdicts (columns) per truth (rows).
type Matrix struct {
	Truths   []rules.Bottleneck
	Verdicts []rules.Bottleneck
	Counts   map[rules.Bottleneck]map[rules.Bottleneck]int
}

// order is the order of the rows and columns.
var order = []rules.Bottleneck{rules.CPU, rules.GC, rules.Lock, rules.Syscall, rules.Wait,
	rules.Generator, rules.Environment, rules.NotLoaded, rules.Unknown}

// Confusion counts verdicts by truth. A case with several right answers counts under the verdict if
// that is one of them.
func Confusion(judged []Judged) Matrix {
	m := Matrix{Counts: map[rules.Bottleneck]map[rules.Bottleneck]int{}}
	seen := map[rules.Bottleneck]bool{}
	for _, j := range judged {
		truth := j.Truth[0]
		if slices.Contains(j.Truth, j.Verdict.Bottleneck) {
			truth = j.Verdict.Bottleneck
		}
		if m.Counts[truth] == nil {
			m.Counts[truth] = map[rules.Bottleneck]int{}
		}
		m.Counts[truth][j.Verdict.Bottleneck]++
		seen[j.Verdict.Bottleneck] = true
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

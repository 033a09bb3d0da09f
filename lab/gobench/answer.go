package gobench

import (
	"fmt"
	"math"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/report/format"
)

// answer says in a sentence what was found.
func (r *Result) answer() string {
	count := map[string]int{}
	var words, parts []string
	for i := range r.Benchmarks { // the worst first
		w := r.Benchmarks[i].word()
		if count[w]++; count[w] == 1 {
			words = append(words, w)
		}
	}
	for _, w := range words {
		parts = append(parts, fmt.Sprintf("%d %s", count[w], w))
	}
	text := fmt.Sprintf("%s against %s: ", r.B, r.A)
	switch {
	case len(r.Benchmarks) > 0:
		text += fmt.Sprintf("of %d benchmarks %s", len(r.Benchmarks), strings.Join(parts, ", "))
	case len(r.Equal) > 0:
		return text + "both build the same test binaries, so nothing was measured"
	case r.Valid:
		return text + "only " + r.B + " has the benchmarks that match, so nothing was measured"
	default:
		return text + r.Reason
	}
	if len(r.Equal) > 0 {
		text += fmt.Sprintf("; the test binaries of %s are the same", format.Plural(len(r.Equal), "package"))
	}
	if n := len(r.Gates); n > 0 {
		verdicts := map[string]int{}
		for _, g := range r.Gates {
			verdicts[g.Verdict]++
		}
		switch {
		case n == 1:
			text += fmt.Sprintf("; the gate %s: %s", r.Gates[0].Gate, r.Gates[0].Verdict)
		case verdicts[compare.Pass] == n:
			text += fmt.Sprintf("; all %d gates pass", n)
		default:
			text += fmt.Sprintf("; of %d gates %d pass, %d fail and %d are undecided", n, verdicts[compare.Pass], verdicts[compare.Fail], verdicts[compare.Undecided])
		}
	}
	return text
}

// rounded is a number of seconds in words that are no more exact than an estimate is.
func rounded(seconds float64) string {
	const minute, hour = 60, 3600
	switch {
	case seconds > hour:
		return format.Plural(int(math.Ceil(seconds/hour)), "hour")
	case seconds > 2*minute:
		return format.Plural(int(math.Ceil(seconds/minute)), "minute")
	}
	return format.Plural(int(max(5, math.Ceil(seconds/5)*5)), "second")
}

// what says what the worst verdict is of.
func (r *Result) what() string {
	if len(r.Benchmarks) == 0 {
		return ""
	}
	b := &r.Benchmarks[0]
	switch b.Verdict {
	case compare.Slower, compare.Faster, compare.Changed:
		m := b.lead()
		text := fmt.Sprintf("%s: %s is %s, %s to %s", b.Title(), m.Unit, b.word(), m.figure(m.A), m.figure(m.B))
		if c := m.Comparison; c.Ratio > 0 && !m.Exact && c.Interval != nil {
			text += fmt.Sprintf(", B/A %.3f [%.3f, %.3f]", c.Ratio, c.Interval[0], c.Interval[1])
		}
		if m.Exact && m.timed {
			text += " in every slice"
		}
		return text
	case compare.Equal:
		return "every benchmark is equal within 2%"
	}
	return "no benchmark is known to be faster or slower"
}

func (r *Result) sure() string {
	if len(r.Benchmarks) == 0 {
		return ""
	}
	widths := map[string][]float64{}
	var generations []float64
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		generations = append(generations, float64(b.Generations))
		for _, unit := range []string{Time, CPU} {
			if m := b.Metric(unit); m != nil && m.Comparison.Interval != nil {
				in := m.Comparison.Interval
				widths[unit] = append(widths[unit], math.Sqrt(in[1]/in[0])-1)
			}
		}
	}
	text := fmt.Sprintf("one run in twenty of equal programs calls one faster or slower; %s (median)", format.Plural(int(compare.Median(generations)), "generation"))
	if n := len(widths[Time]); n > 0 {
		elapsed, cpu := compare.Median(widths[Time]), compare.Median(widths[CPU])
		text += fmt.Sprintf(", ns/op of %d known within %.1f%%", n, 100*elapsed)
		if len(widths[CPU]) > 0 {
			text += fmt.Sprintf(" and cpu-ns/op within %.1f%%", 100*cpu)
		}
		const busy = 2
		if len(widths[CPU]) > 0 && elapsed > busy*cpu {
			text += ": elapsed time varies more than what the processes compute"
		}
	}
	if r.TimeToDecide > 0 {
		what := "decide the rest"
		if r.short {
			what = "give each an interval"
		}
		text += fmt.Sprintf("; about %s more would %s", rounded(r.TimeToDecide), what)
	}
	return text
}

package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Change is a change point: a revision whose figure differs from that of the one before.
type Change struct {
	Ratio    float64
	Interval [2]float64
}

// Point is a revision's place on a line.
type Point struct {
	Entry  *Entry
	Figure Figure
	Before *Figure // of the revision before, from the same turns; nil: not measured
	Change *Change // nil: none was found
	Unseen string  // why a change cannot be seen; empty: it can
}

// Line is a figure over the revisions of one program.
type Line struct {
	Key    string
	Points []Point // in the order of the commits
}

const (
	// leastChange is the smallest change that is marked: a comparison calls less equal.
	leastChange = 0.02
	// level is the probability with which all intervals of a line hold together: with 95% each, every
	// twentieth commit would be marked by chance.
	level = 0.95
)

// Keys are the figures that are drawn, in order.
var Keys = append([]string{Capacity, Work, CPU, Allocs}, units...)

// Lines are the figures of a program over its revisions: of several entries of a revision the last
// counts. Figures that no entry has are left out.
func Lines(entries []Entry, name string) (out []Line) {
	order, program := ordered(entries, name), programs(entries, name)
	for _, key := range Keys {
		line := Line{Key: key}
		var before *Entry
		for _, e := range order {
			f, known := e.Figures[key]
			if !known {
				continue
			}
			p := Point{Entry: e, Figure: f}
			if before != nil {
				p.Change, p.Unseen = changed(before, e, key, len(order)-1, program)
				if f, known := e.Before[key]; known && program(e.Against) == program(before.Revision) {
					p.Before = &f
				}
			}
			line.Points = append(line.Points, p)
			before = e
		}
		if len(line.Points) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// ordered returns the last entry of each revision of a program, by the time of the commit.
func ordered(entries []Entry, name string) (out []*Entry) {
	at := map[string]int{}
	for i := range entries {
		e := &entries[i]
		if e.Name != name || e.Same {
			continue
		}
		if j, known := at[e.Revision.key()]; known {
			out[j] = e
			continue
		}
		at[e.Revision.key()] = len(out)
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b *Entry) int { return when(a).Compare(when(b)) })
	return out
}

// programs returns a function that identifies the program of a commit: commits that build the same
// program have that of the first.
func programs(entries []Entry, name string) func(Commit) string {
	same := map[string]string{}
	for _, e := range entries {
		if e.Name == name && e.Same {
			same[e.Revision.key()] = e.Against.key()
		}
	}
	return func(c Commit) string {
		key := c.key()
		for range len(same) { // a damaged file may have a circle
			of, known := same[key]
			if !known {
				break
			}
			key = of
		}
		return key
	}
}

// when is the time of the commit, or that of the measurement of what is no commit.
func when(e *Entry) time.Time {
	if e.Revision.Time.IsZero() {
		return e.Measured
	}
	return e.Revision.Time
}

// noInterval is why a change cannot be seen without an interval.
const noInterval = "too few samples were measured for an interval"

// changed finds the change from one revision to the next. It never compares figures of different
// hours: a ratio is that of the revision to the one before, if they took turns, or the quotient of
// their ratios to a third, with which both took turns. links is the number of such comparisons in
// the line.
func changed(before, e *Entry, key string, links int, program func(Commit) string) (c *Change, unseen string) {
	log, half, ok := logOf(e.Ratios[key], links)
	if !ok {
		return nil, noInterval
	}
	switch {
	case program(e.Against) == program(before.Revision):
	case program(e.Against) == program(before.Against):
		first, width, ok := logOf(before.Ratios[key], links)
		if !ok {
			return nil, noInterval
		}
		log, half = log-first, math.Hypot(half, width)
	default:
		return nil, "it was compared neither with the commit before nor with the same one as that"
	}
	if math.Abs(log) <= half || math.Abs(math.Expm1(log)) < leastChange {
		return nil, ""
	}
	return &Change{Ratio: math.Exp(log), Interval: [2]float64{math.Exp(log - half), math.Exp(log + half)}}, ""
}

// logOf is the logarithm of a ratio and the half-width of its interval, widened so that all links
// hold together (Bonferroni).
func logOf(r Ratio, links int) (log, half float64, ok bool) {
	in := r.Interval
	if in == nil || !(in[0] > 0) || !(in[1] >= in[0]) || !(r.Ratio > 0) {
		return 0, 0, false
	}
	quantile := distuv.UnitNormal.Quantile
	if r.Samples > 1 {
		quantile = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(r.Samples - 1)}.Quantile
	}
	wider := quantile(1-(1-level)/2/float64(max(1, links))) / quantile(1-(1-level)/2)
	return math.Log(r.Ratio), math.Log(in[1]/in[0]) / 2 * wider, true
}

// Better is 1 if a higher value of a figure is better, else -1.
func Better(key string) int {
	return cmp.Or(map[string]int{Capacity: 1, Work: 1}[key], -1)
}

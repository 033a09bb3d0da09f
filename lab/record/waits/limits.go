// Package waits reads from a run what a job reported that it waits for.
//
// It is not for what bounds a service that reports nothing: package diagnose finds that out. It
// starts no goroutines.
package waits

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dyno/lab/record"
)

// prefix begins the gauges with which a job reports what it waits for: bound_server is the
// share of the time in which a server's budget limited it.
const prefix = "bound_"

// Limit is one thing that a job waited for, and how much of its time that took.
type Limit struct {
	Name  string  `json:"name"`  // the job's own name for it: server, bytes, cpu, disk, ...
	Share float64 `json:"share"` // share of the measured time, 0 to 1
}

// inWords describes the limits that jobs usually have.
var inWords = map[string]string{
	"server": "the server's budget or its answers",
	"bytes":  "the budget of bytes",
	"pace":   "its own rate of requests, which rises until a server refuses one",
	"cpu":    "its own CPU",
	"disk":   "its disk",
}

// String returns the limit in words.
func (l Limit) String() string { return cmp.Or(inWords[l.Name], l.Name) }

// Of returns what the job of a run reported waiting for, largest share first: means over the
// windows that count, or that were profiled. Nil means that it reported nothing.
func Of(r *record.Run) []Limit {
	sums, windows := map[string]float64{}, 0
	for _, w := range r.Series {
		if w.Phase != record.PhaseMeasure && w.Phase != record.PhaseProfile || w.Server == nil {
			continue
		}
		told := false
		for gauge, v := range w.Server.Gauges {
			if name, ok := strings.CutPrefix(gauge, prefix); ok && name != "" {
				sums[name] += min(max(v, 0), 1)
				told = true
			}
		}
		if told {
			windows++
		}
	}
	var out []Limit
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, Limit{name, sums[name] / float64(windows)})
	}
	slices.SortStableFunc(out, func(a, b Limit) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

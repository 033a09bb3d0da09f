package record

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// boundPrefix begins the names of the gauges with which a job reports what it waits for:
// bound_server is the share of the time in which a server's budget limited it.
const boundPrefix = "bound_"

// WaitLimit is one thing that a job waited for, and how much of its time that took.
type WaitLimit struct {
	Name  string  `json:"name"`  // the job's own name for it: server, bytes, cpu, disk, ...
	Share float64 `json:"share"` // share of the measured time, 0 to 1
}

// waitText describes the limits that jobs usually have.
var waitText = map[string]string{
	"server": "the server's budget or its answers",
	"bytes":  "the budget of bytes",
	"pace":   "its own rate of requests, which rises until a server refuses one",
	"cpu":    "its own CPU",
	"disk":   "its disk",
}

// String describes the limit.
func (l WaitLimit) String() string { return cmp.Or(waitText[l.Name], l.Name) }

// WaitsOf returns what the job of a run reported waiting for, largest share first: means over the
// windows that count, or that were profiled. Nil means that it reported nothing.
func WaitsOf(r *Run) []WaitLimit {
	sums, windows := map[string]float64{}, 0
	for _, w := range r.Series {
		if w.Phase != PhaseMeasure && w.Phase != PhaseProfile || w.Server == nil {
			continue
		}
		reported := false
		for gauge, v := range w.Server.Gauges {
			if name, ok := strings.CutPrefix(gauge, boundPrefix); ok && name != "" {
				sums[name] += min(max(v, 0), 1)
				reported = true
			}
		}
		if reported {
			windows++
		}
	}
	var out []WaitLimit
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, WaitLimit{name, sums[name] / float64(windows)})
	}
	slices.SortStableFunc(out, func(a, b WaitLimit) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

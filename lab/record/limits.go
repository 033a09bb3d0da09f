package record

import (
	"cmp"
	"slices"
	"strings"
)

// limitPrefix begins the gauges by which a job says what it waits for: bound_server is the share of the time in
// which it was a server's budget that kept it from doing more.
const limitPrefix = "bound_"

// Limit is what a job says it waited for.
type Limit struct {
	Name  string  `json:"name"`  // as the job calls it: server, bytes, cpu, disk, ...
	Share float64 `json:"share"` // of the measured time, 0 to 1
}

// limitWords say what the limits are that a job usually has.
var limitWords = map[string]string{
	"server": "the server's budget or its answers",
	"bytes":  "the budget of bytes",
	"pace":   "its own rate of requests, which rises until a server refuses one",
	"cpu":    "its own CPU",
	"disk":   "its disk",
}

// String is the limit in words.
func (l Limit) String() string { return cmp.Or(limitWords[l.Name], l.Name) }

// Limits reads what a job said it waited for, the largest share first: means over the windows that count, or were
// profiled. Nil: it said nothing.
func (r *Run) Limits() []Limit {
	sums, windows := map[string]float64{}, 0
	for _, w := range r.Series {
		if w.Phase != PhaseMeasure && w.Phase != PhaseProfile || w.Server == nil {
			continue
		}
		told := false
		for gauge, v := range w.Server.Gauges {
			if name, ok := strings.CutPrefix(gauge, limitPrefix); ok && name != "" {
				sums[name] += min(max(v, 0), 1)
				told = true
			}
		}
		if told {
			windows++
		}
	}
	var out []Limit
	for _, name := range sortedKeys(sums) {
		out = append(out, Limit{name, sums[name] / float64(windows)})
	}
	slices.SortStableFunc(out, func(a, b Limit) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

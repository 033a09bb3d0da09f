package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// refusals lists how requests of a run failed, the commonest first: by status, and otherwise by
// the kind of error. Empty: none failed.
func refusals(r *record.Run) string {
	const most = 3
	counts := map[string]int64{}
	for status, n := range r.Totals.Status {
		if code, err := strconv.Atoi(status); err == nil && code >= http.StatusBadRequest {
			counts[strings.TrimSpace(status+" "+http.StatusText(code))] += n
		}
	}
	byStatus := len(counts) > 0
	for kind, n := range r.Totals.Errors {
		if kind != "status" || !byStatus {
			counts[kind] += n
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%s: %s", name, grouped(float64(counts[name]))))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// sheds describes the first run of a sweep in which many requests failed; empty: there is none.
func (s Subject) sheds() string {
	for _, r := range s.Saturated {
		if share := facts.Failing(r); share >= rules.Defaults.Value(rules.ThresholdRefusing) {
			return fmt.Sprintf("with %s requests in flight, %s of the responses failed%s", grouped(facts.InFlight(r)), percent(share), refusals(r))
		}
	}
	return ""
}

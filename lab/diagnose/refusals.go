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

// refusals lists how requests of a run failed, the most frequent first: by status, and otherwise by
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
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
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

// refused counts the requests of a run that were refused as too many: by such a status, by a
// connection that was refused, reset or closed, or by a timeout. An error in the service's own work
// does not count.
func refused(r *record.Run) (n int64) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		n += r.Totals.Status[strconv.Itoa(status)]
	}
	for kind, failed := range r.Totals.Errors {
		if kind != "status" && kind != "check" {
			n += failed
		}
	}
	return n
}

// sheds describes the first run of a sweep in which many requests were refused; empty: there is
// none. A rate limiter answers 429 to a single client as well, which sends as fast as it is refused.
// Other refusals may be failures, so more of them are needed than with a single client.
func (s Subject) sheds() string {
	least := rules.Defaults.Value(rules.ThresholdRefusing)
	for i, r := range s.Saturated {
		if r.Totals.Ended == 0 {
			continue
		}
		limited := shareOf(r, r.Totals.Status[strconv.Itoa(http.StatusTooManyRequests)])
		share, first := shareOf(r, refused(r)), s.Saturated[0]
		if limited >= least || i > 0 && share >= least && share >= 2*shareOf(first, refused(first)) {
			return fmt.Sprintf("%s, %s of them were refused%s", withRequests(facts.InFlight(r)), nearly(share), refusals(r))
		}
	}
	return ""
}

// shareOf is a number of a run's requests as a share of all that ended.
func shareOf(r *record.Run, n int64) float64 {
	return min(1, float64(n)/float64(max(r.Totals.Ended, 1)))
}

func withRequests(inFlight float64) string {
	if inFlight < 2 {
		return "with requests one at a time"
	}
	return "with " + grouped(inFlight) + " requests in flight"
}

// nearly formats a share of which there is a rest, however small.
func nearly(share float64) string {
	if text := percent(share); share >= 1 || text != percent(1) {
		return text
	}
	return "over 99%"
}

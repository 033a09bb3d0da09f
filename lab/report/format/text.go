package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
)

// Kinds name the kinds of experiment.
var Kinds = map[string]string{
	record.KindLoad:     "load",
	record.KindCapacity: "capacity",
	record.KindLadder:   "ladder",
	record.KindCompare:  "comparison",
	record.KindSweep:    "sweep",
	record.KindDiagnose: "diagnosis",
}

// JSON writes a value as one object, indented, with characters such as < as they are.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// MetricValue formats a value of the metric.
func MetricValue(metric string, v Value) string {
	switch metric {
	case compare.MetricP99:
		return Format(v) + " ms"
	case compare.MetricCPU:
		return Format(v) + " us"
	}
	return Rate(v)
}

// Run names a run in a list.
func Run(r *record.Run) string {
	parts := []string{r.Spec.Variant}
	if r.Spec.Variant == "" {
		parts[0] = r.ID
	}
	if r.Spec.Role != "" && r.Spec.Role != record.RoleSingle {
		parts = append(parts, Role(r.Spec.Role))
	}
	if r.Spec.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", r.Spec.Round))
	}
	if r.Axis() == record.AxisSessions {
		parts = append(parts, Plural(r.Spec.Connections, "session"))
	} else if r.Axis() == record.AxisConcurrency {
		parts = append(parts, fmt.Sprintf("%d in flight", r.Spec.Connections))
	} else if r.Spec.RampTo > 0 {
		parts = append(parts, Rate(Value(r.Spec.Rate))+" to "+Rate(Value(r.Spec.RampTo)))
	} else if r.Totals.OfferedPerS > 0 {
		parts = append(parts, Rate(Value(r.Totals.OfferedPerS)))
	}
	if r.Invalid != "" {
		parts = append(parts, "invalid")
	}
	return strings.Join(parts, ", ")
}

// Inconclusive is the reason why a verdict is neither met nor missed; empty: it is one of them.
func Inconclusive(v capacity.Verdict) string {
	return strings.TrimPrefix(v.Inconclusive, "not judged: ")
}

// Missed lists the criteria that a single load missed.
func Missed(v *capacity.Verdict) []string {
	if v == nil || v.Met || Inconclusive(*v) != "" {
		return nil
	}
	return v.Misses
}

// StatusError is the kind of error of a response whose status was not accepted.
const StatusError = "status"

// Statuses lists the statuses of the target's responses: "1,000 x 200, 20 x 404 (not accepted)".
// The record counts the responses that were not accepted without their statuses; if these are
// ambiguous, their number is at the end.
func Statuses(t record.Totals) string {
	refused, above, all := t.Errors[StatusError], int64(0), int64(0)
	for status, n := range t.Status {
		all += n
		if unusual(status) {
			above += n
		}
	}
	var words []string
	for _, status := range slices.Sorted(maps.Keys(t.Status)) {
		text := Count(t.Status[status]) + " x " + status
		if refused > 0 && (refused == all || refused == above && unusual(status)) {
			text += " (not accepted)"
		}
		words = append(words, text)
	}
	if refused > 0 && refused != all && refused != above {
		words = append(words, Count(refused)+" of them not accepted")
	}
	return strings.Join(words, ", ")
}

// unusual reports whether a status, of three digits, counts as no success unless a scenario accepts
// it: an error, or a redirect.
func unusual(status string) bool {
	switch status {
	case "301", "302", "303", "307", "308":
		return true
	}
	return status >= "400"
}

// roleNames name the roles whose own name is not clear.
var roleNames = map[string]string{
	record.RoleAblation: "leave one out", record.RoleSingle: "single load",
	record.RoleTraced: "trace", record.RoleIntervene: "change one thing",
}

// Role names the purpose of a run.
func Role(role string) string { return cmp.Or(roleNames[role], role) }

// Title names what was measured, and how: notify (ladder), 127.0.0.1:8080/orders/7 (load).
func Title(e *record.Experiment) string {
	name := Subject(e)
	if name == e.Service && e.Name != e.Service {
		name = strings.TrimSpace(e.Service + " " + e.Name)
	}
	return strings.TrimSpace(name + " (" + cmp.Or(Kinds[e.Kind], e.Kind) + ")")
}

// Subject names the target: a service, or its address without the scheme and the part after the
// path.
func Subject(e *record.Experiment) string {
	var found []string
	for i, arg := range e.Command {
		if e.Scenario != "" || i > 0 && strings.HasPrefix(e.Command[i-1], "--") {
			continue // the values of --debug and similar flags are other addresses
		}
		if u, err := url.Parse(arg); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			found = append(found, u.Host+strings.TrimSuffix(u.EscapedPath(), "/"))
		}
	}
	return cmp.Or(strings.Join(found, " and "), e.Service, e.Name)
}

// Latency writes the latencies that an SLO bounds: "delivery p99 <= 100 ms".
func Latency(s record.SLO) string {
	on := ""
	if s.On == record.OnDelivery {
		on = "delivery "
	}
	var terms []string
	for _, q := range Quantiles {
		if ms, ok := s.Latency[q.Name]; ok {
			terms = append(terms, fmt.Sprintf("%s%s <= %s ms", on, q.Label, Round(Value(ms))))
		}
	}
	return strings.Join(terms, ", ")
}

// SLO writes all of an SLO: "delivery p99 <= 100 ms, errors <= 0.1%, queue_depth < 1,000".
func SLO(s record.SLO) string {
	var terms []string
	if latency := Latency(s); latency != "" {
		terms = append(terms, latency)
	}
	switch {
	case s.Errors > 0:
		terms = append(terms, "errors <= "+Percent(Value(s.Errors)))
	case s.Bounded():
		terms = append(terms, "no errors")
	}
	if s.Frames > 0 {
		terms = append(terms, "frames >= "+Round(Value(s.Frames))+"/s in 99% of the sessions")
	}
	for _, g := range slices.Sorted(maps.Keys(s.Gauges)) {
		terms = append(terms, fmt.Sprintf("%s < %s", g, Round(Value(s.Gauges[g]))))
	}
	return strings.Join(terms, ", ")
}

// Quantiles are the quantiles a report shows, in order.
var Quantiles = []struct {
	Name, Label string
	share       float64 // of the requests at or below it; -1: not a share
}{
	{"p50", "p50", 0.5}, {"p90", "p90", 0.9}, {"p95", "p95", 0.95}, {"p99", "p99", 0.99},
	{"p999", "p99.9", 0.999}, {"max", "max", -1}, {"mean", "mean", -1},
}

// P99Bound is the SLO's bound on p99, if it has one.
func P99Bound(s record.SLO) Value {
	if ms, ok := s.Latency["p99"]; ok {
		return Value(ms)
	}
	return Unknown
}

// Runs states how many runs count.
func Runs(all, valid int) string {
	switch {
	case all == 1 && valid == 1:
		return "the run counts"
	case all == valid:
		return "all " + Plural(all, "run") + " count"
	}
	return fmt.Sprintf("%d of %s count", valid, Plural(all, "run"))
}

// Met states whether a load met its SLO, or why it does not count.
func Met(met bool, invalid string) string {
	switch {
	case invalid != "":
		return "invalid: " + invalid
	case met:
		return "met"
	}
	return "missed"
}

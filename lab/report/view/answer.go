package view

import (
	"fmt"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// alike is the relative difference below which two variants' flows are named together.
const alike = 0.01

// Answer names which of the variants have the highest throughput within the SLO's p99.
func (s *Sweep) Answer(slo record.SLO, variants []string) string {
	bound := format.P99Bound(slo)
	best, verb := map[string]format.Value{}, "accepted"
	var most format.Value
	for _, row := range s.Rows {
		flow := row.Accepted
		if row.Delivered.Known() {
			flow, verb = row.Delivered, "delivered"
		}
		if bound.Known() && !(row.P99 <= bound) || !flow.Known() {
			continue
		}
		best[row.Variant] = max(best[row.Variant], flow)
		most = max(most, flow)
	}
	within := ""
	if bound.Known() {
		within = " with p99 <= " + format.Round(bound) + " ms"
	}
	if len(best) == 0 {
		none := fmt.Sprintf("None of %s accepted anything", format.Plural(len(variants), "variant"))
		if bound.Known() {
			none = fmt.Sprintf("None of %s had a p99 of %s ms at most", format.Plural(len(variants), "variant"), format.Round(bound))
		}
		return none + " at any rate."
	}
	var names []string
	for _, name := range variants {
		if v, ok := best[name]; ok && v >= most*(1-alike) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("%s %s the most%s: %s.", strings.Join(names, ", "), verb, within, format.Rate(most))
}

package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report/figure"
	"dyno/lab/report/words"
)

// Factors above which an axis counts as having an effect, and below which as having none.
const (
	matters = 1.5
	equal   = 1.1
)

// showing is a variant's results over all its rates.
type showing struct {
	record.Variant
	most float64 // highest delivered rate, per second; accepted if no gauge reports deliveries
	p99  float64 // ms, under its highest rate
	drop float64 // share dropped under its lowest rate
}

func showings(e *record.Experiment) (out []showing) {
	for _, v := range e.Variants {
		all := points(e, v.Name)
		if len(all) == 0 || v.Values == nil {
			continue
		}
		s := showing{Variant: v, p99: all[len(all)-1].median(p99Of), drop: all[0].median(dropOf)}
		for _, p := range all {
			flow := p.median(deliveredOf)
			if math.IsNaN(flow) {
				flow = p.median(acceptedOf)
			}
			s.most = max(s.most, flow)
		}
		out = append(out, s)
	}
	return out
}

// axesAnswer describes the effect of each axis of a sweep; empty without axes.
func axesAnswer(e *record.Experiment) string {
	all := showings(e)
	if len(all) < 2 {
		return ""
	}
	var capacity, latency, kind []string
	for _, a := range valuesOf(all[0].Variant) {
		flow, rivals := effect(all, a.axis, func(s showing) float64 { return s.most })
		wait, _ := effect(all, a.axis, func(s showing) float64 { return s.p99 })
		moved := fmt.Sprintf("changed the delivered rate by %s and p99 under the highest rate by a factor of %s", figure.Percent(figure.Value(figure.Significant(flow-1, 2))), figure.Round(figure.Value(figure.Significant(wait, 2))))
		switch {
		case rivals == 0:
		case flow >= matters:
			capacity = append(capacity, fmt.Sprintf("capacity comes from the %s: at most %s", a.axis, mostByValue(all, a.axis)))
		case a.numeric() && flow < equal && wait >= matters:
			latency = append(latency, fmt.Sprintf("the %s only buys latency: it %s", a.axis, moved))
		case a.numeric():
			kind = append(kind, fmt.Sprintf("the %s %s", a.axis, moved))
		default:
			kind = append(kind, fmt.Sprintf("the kind of %s %s", a.axis, moved))
		}
	}
	said := slices.Concat(capacity, latency, kind)
	if lossy := lossyAnswer(all); lossy != "" {
		said = append(said, lossy)
	}
	if len(said) == 0 {
		return ""
	}
	said[0] = strings.ToUpper(said[0][:1]) + said[0][1:]
	return strings.Join(said, "; ") + "."
}

// effect is the factor by which a figure differs along an axis with all other axes equal: the
// median over the groups of variants that differ only in that axis. rivals is the number of groups.
func effect(all []showing, axis string, read func(showing) float64) (factor float64, rivals int) {
	groups := map[string][2]float64{}
	sizes := map[string]int{}
	for _, s := range all {
		v := read(s)
		if !(v > 0) {
			continue
		}
		key := ""
		for _, a := range valuesOf(s.Variant) {
			if a.axis != axis {
				key += a.axis + "=" + a.value + ","
			}
		}
		if sizes[key]++; sizes[key] == 1 {
			groups[key] = [2]float64{v, v}
			continue
		}
		groups[key] = [2]float64{min(groups[key][0], v), max(groups[key][1], v)}
	}
	var factors []float64
	for key, g := range groups {
		if sizes[key] > 1 {
			factors = append(factors, g[1]/g[0])
		}
	}
	sort.Float64s(factors)
	return figure.Median(factors), len(factors)
}

// mostByValue lists the highest delivered rate for each value of an axis.
func mostByValue(all []showing, axis string) string {
	var order []string
	most := map[string]float64{}
	for _, s := range all {
		value := s.Values[axis]
		if _, known := most[value]; !known {
			order = append(order, value)
		}
		most[value] = max(most[value], s.most)
	}
	number := func(value string) float64 { n, _ := strconv.ParseFloat(value, 64); return n } // names stay in order
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	var out []string
	for i, value := range order {
		verb := ""
		if i == 0 {
			verb = "delivered "
		}
		out = append(out, fmt.Sprintf("%s %swith %s", figure.Rate(figure.Value(most[value])), verb, value))
	}
	return strings.Join(out, ", ")
}

// lossyAnswer names a value of an axis whose variants dropped offers under the lowest rate, several
// times more than those of any other value.
func lossyAnswer(all []showing) string {
	const (
		lost = 0.05 // share of offers
		more = 3    // factor against every other value
	)
	for _, a := range valuesOf(all[0].Variant) {
		worst, best := map[string]float64{}, map[string]float64{}
		for _, s := range all {
			value := s.Values[a.axis]
			if _, known := best[value]; !known {
				best[value] = math.Inf(1)
			}
			worst[value], best[value] = max(worst[value], s.drop), min(best[value], s.drop)
		}
		for value, least := range best {
			others := 0.0
			for other, most := range worst {
				if other != value {
					others = max(others, most)
				}
			}
			if len(best) > 1 && least >= lost && least >= more*others {
				return fmt.Sprintf("%s refused %s to %s even under the lowest rate, the others at most %s",
					axisValue{a.axis, value}, figure.Percent(figure.Value(figure.Significant(least, 2))), figure.Percent(figure.Value(figure.Significant(worst[value], 2))), figure.Percent(figure.Value(figure.Significant(others, 2))))
			}
		}
	}
	return ""
}

// alike is the relative difference below which two variants' flows are named together.
const alike = 0.01

// Answer describes the effect of the axes, or names which of the variants have the highest
// throughput within the SLO's p99.
func (s *Sweep) Answer(slo record.SLO, variants []string) string {
	if s.axes != "" {
		return s.axes
	}
	bound := words.P99Bound(slo)
	best, verb := map[string]figure.Value{}, "accepted"
	var most figure.Value
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
		within = " with p99 <= " + figure.Round(bound) + " ms"
	}
	if len(best) == 0 {
		return fmt.Sprintf("None of %s stayed within%s at any rate.", figure.Plural(len(variants), "variant"), within)
	}
	var names []string
	for _, name := range variants {
		if v, ok := best[name]; ok && v >= most*(1-alike) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("%s %s the most%s: %s.", strings.Join(names, ", "), verb, within, figure.Rate(most))
}

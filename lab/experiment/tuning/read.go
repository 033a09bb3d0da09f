package tuning

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/record/redact"
)

// whyNot explains why a candidate has no samples; empty: the time did not suffice.
func whyNot(exp *record.Experiment, candidate string, err error) string {
	for _, w := range exp.Warnings {
		if after, ok := strings.CutPrefix(w, candidate+" is "); ok {
			_, why, _ := strings.Cut(after, ": ")
			return firstLine(why)
		}
	}
	if err != nil {
		return firstLine(redact.Text(err.Error()))
	}
	return ""
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// sample returns a function that reads a variant's result in a round of whole runs.
func sample(e *record.Experiment) compare.Sample {
	if metric := cmp.Or(e.Metric, compare.MetricCapacity); metric != compare.MetricCapacity {
		return compare.AtEqualRate(e, metric)
	}
	return func(role, variant string, round int) (float64, bool) {
		runs := e.Select(func(r *record.Run) bool {
			return r.Spec.Role == role && r.Spec.Variant == variant && r.Spec.Round == round
		})
		if len(runs) == 0 {
			return 0, false
		}
		peak, ok, _ := capacity.PeakOf(runs, e.SLO)
		return peak.PerS, ok
	}
}

// resident returns a variant's resident memory under load, in bytes: the median over its slices, or
// the largest of its runs; 0: not known.
func resident(e *record.Experiment, variant string) int64 {
	var seen []int64
	for i := range e.Slices {
		if s := &e.Slices[i]; s.Role == record.RoleMeasure && s.Variant == variant && s.RSS > 0 {
			seen = append(seen, s.RSS)
		}
	}
	if len(seen) > 0 {
		slices.Sort(seen)
		return seen[len(seen)/2]
	}
	most := int64(0)
	for _, r := range e.Runs {
		if r.Spec.Variant == variant && r.Totals.Server != nil && !r.Spec.Diagnostic() {
			most = max(most, r.Totals.Server.PeakRSS)
		}
	}
	return most
}

// perRun returns how long a whole run takes, its start included. It leaves out runs under
// profiles, which take longer.
func perRun(e *record.Experiment, began time.Time) time.Duration {
	for i, r := range e.Runs {
		if i > 0 && r.Spec.Diagnostic() {
			return r.Started.Sub(began) / time.Duration(i)
		}
	}
	return time.Since(began) / time.Duration(max(1, len(e.Runs)))
}

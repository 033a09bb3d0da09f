package compare

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/record"
)

// Between compares two variants of an experiment over the rounds in which both were measured, or
// over the blocks in which both took their turn. If the baseline was measured twice, NoiseFloor is
// the comparison of the baseline with itself over the same time.
func Between(exp *record.Experiment, metric, a, b string, sample Sample) Comparison {
	role := measured(exp)
	return withNoiseFloor(exp, metric, Arm{role, a}, Arm{role, b}, sample)
}

// withNoiseFloor compares two sides, and fills in the noise floor.
func withNoiseFloor(exp *record.Experiment, metric string, a, b Arm, sample Sample) Comparison {
	c := paired(exp, metric, a, b, sample)
	if !byTurns(exp, metric) { // otherwise Turns has filled it in
		c.NoiseFloor = noiseFloor(exp, metric, sample).Interval
		c.warnOfNoise()
	}
	return c
}

// byTurns reports whether the experiment's slices hold a metric.
func byTurns(exp *record.Experiment, metric string) bool {
	return len(exp.Slices) > 0 && metric != MetricCapacity
}

// measured returns the role whose samples count: record.RoleMeasure, or record.RoleSearch for an
// experiment that holds no other runs.
func measured(exp *record.Experiment) string {
	if len(exp.Slices) > 0 || slices.ContainsFunc(exp.Runs, func(r *record.Run) bool { return r.Spec.Role == record.RoleMeasure }) {
		return record.RoleMeasure
	}
	return record.RoleSearch
}

// ran reports whether the arm has a run or a slice.
func (s Arm) ran(exp *record.Experiment) bool {
	return slices.ContainsFunc(exp.Runs, s.of) || slices.ContainsFunc(exp.Slices, func(x record.Slice) bool { return x.Role == s.Role && x.Variant == s.Variant })
}

// paired compares two sides over the rounds, or blocks, in which both have a sample.
func paired(exp *record.Experiment, metric string, a, b Arm, sample Sample) Comparison {
	if byTurns(exp, metric) {
		return Turns(exp.Slices, metric, a, b)
	}
	var as, bs []float64
	var lost []int
	for _, round := range rounds(exp, a, b) {
		va, okA := sample(a.Role, a.Variant, round)
		vb, okB := sample(b.Role, b.Variant, round)
		if !okA || !okB {
			lost = append(lost, round)
			continue
		}
		as, bs = append(as, va), append(bs, vb)
	}
	c := Ratio(metric, as, bs)
	c.A, c.B = a.Variant, b.Variant
	if len(lost) > 0 {
		c.warn("left out, since one side has no result: %s", roundsText(lost))
	}
	disturbed, of := 0, 0
	example := ""
	for _, r := range exp.Runs {
		if !a.of(r) && !b.of(r) {
			continue
		}
		of++
		if r.Invalid != "" || len(r.Warnings) > 0 {
			disturbed++
			example = cmp.Or(example, r.Invalid, firstOf(r.Warnings))
		}
	}
	if disturbed > 0 {
		c.warn("%d of %d runs were disturbed, for example: %s", disturbed, of, example)
	}
	return c
}

// Gains returns by how much b is better than a, as a logarithm of the ratio for each block in which
// both took their turn, or for each round in which both have a sample.
func Gains(exp *record.Experiment, metric, a, b string, sample Sample) []float64 {
	return gains(exp, metric, Arm{measured(exp), a}, Arm{measured(exp), b}, sample)
}

// ControlGains returns the gains of the A/A control, the second process of the baseline, over the
// baseline. They should be 0.
func ControlGains(exp *record.Experiment, metric, baseline string, sample Sample) []float64 {
	return gains(exp, metric, Arm{measured(exp), baseline}, Arm{record.RoleControl, baseline}, sample)
}

func gains(exp *record.Experiment, metric string, x, y Arm, sample Sample) (logs []float64) {
	if byTurns(exp, metric) {
		logs = turnsOf(exp.Slices, metric, x, y).logs()
	} else {
		for _, round := range rounds(exp, x, y) {
			va, okA := sample(x.Role, x.Variant, round)
			vb, okB := sample(y.Role, y.Variant, round)
			if okA && okB && positive(va) && positive(vb) {
				logs = append(logs, math.Log(vb/va))
			}
		}
	}
	for i := range logs {
		logs[i] *= float64(better(metric))
	}
	return logs
}

// roundsText formats rounds: round 5; rounds 2 and 5; rounds 2, 3 and 5.
func roundsText(rounds []int) string {
	numbers := make([]string, len(rounds))
	for i, n := range rounds {
		numbers[i] = strconv.Itoa(n)
	}
	last := len(numbers) - 1
	if last == 0 {
		return "round " + numbers[0]
	}
	return "rounds " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}

func firstOf(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// rounds returns the rounds in which either side ran, in order.
func rounds(exp *record.Experiment, a, b Arm) []int {
	var out []int
	for _, r := range exp.Runs {
		if a.of(r) || b.of(r) {
			out = append(out, r.Spec.Round)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// noiseFloor compares the variant that was measured twice with itself.
func noiseFloor(exp *record.Experiment, metric string, sample Sample) Comparison {
	for _, v := range exp.Variants {
		if control := (Arm{record.RoleControl, v.Name}); control.ran(exp) {
			return paired(exp, metric, Arm{record.RoleMeasure, v.Name}, control, sample)
		}
	}
	return Comparison{}
}

// AtEqualRate returns samples from runs at one rate: p99 in ms as the SLO measures it, or CPU in us
// per request. Several runs of one variant, role and round give their geometric mean.
func AtEqualRate(exp *record.Experiment, metric string) Sample {
	return func(role, variant string, round int) (float64, bool) {
		logs, n := 0.0, 0
		for _, r := range exp.Runs {
			if r.Invalid != "" || r.Spec.Round != round || !(Arm{role, variant}).of(r) {
				continue
			}
			if v, ok := observed(r, exp.SLO, metric); ok {
				logs, n = logs+math.Log(v), n+1
			}
		}
		if n == 0 {
			return 0, false
		}
		return math.Exp(logs / float64(n)), true
	}
}

// observed reads a metric from a run; false: the run does not hold it.
func observed(r *record.Run, slo record.SLO, metric string) (float64, bool) {
	switch metric {
	case MetricP99:
		v := slo.Observed(r.Totals).P99
		return v, positive(v)
	case MetricCPU:
		if r.Totals.Server == nil {
			return 0, false
		}
		v := r.Totals.Server.CPUMicrosPerRequest
		return v, positive(v)
	}
	return 0, false
}

package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Schema names the JSON form of a Result.
const Schema = "dyno.capacity/1"

// BoundGenerator is the Bound of a Result when the load generator, not the target, ended the
// search.
const BoundGenerator = "the generator"

// MinData is the fewest samples that give an interval.
const MinData = 4

// Result is the capacity of one variant.
type Result struct {
	Schema  string     `json:"schema"`
	Variant string     `json:"variant,omitempty"`
	SLO     record.SLO `json:"slo"`
	// geometric mean of Data, or the rate of slices at 95%; when not Valid, the highest rate met
	CapacityPerS float64 `json:"capacity_per_s"`
	// units in flight, of jobs driven by concurrency
	Concurrency int         `json:"concurrency,omitempty"`
	Interval    *[2]float64 `json:"interval"` // 95%; nil below MinData samples
	// samples: one per round, or per search without measured rounds
	Data  []float64   `json:"data"`
	Steps []RatePoint `json:"steps"` // by rate
	// coefficient of variation of the achieved rate, in the met runs nearest to the capacity
	Variation float64  `json:"variation"`
	Valid     bool     `json:"valid"`
	AtLeast   bool     `json:"at_least,omitempty"` // CapacityPerS is only a lower bound
	Reason    string   `json:"reason"`             // why not valid
	Bound     string   `json:"bound,omitempty"`
	Warnings  []string `json:"warnings"`

	// The fields below are set for slices. CapacityPerS is then the rate at which 95% of the slices
	// meet the SLO.
	Rate50PerS       float64     `json:"knee_per_s,omitempty"` // half of the slices meet the SLO
	Rate50Interval   *[2]float64 `json:"knee_interval,omitempty"`
	Trials           int         `json:"votes,omitempty"`           // slices with a verdict
	PeakWorkPerS     float64     `json:"peak_work_per_s,omitempty"` // of work slices
	PeakWorkInterval *[2]float64 `json:"peak_work_interval,omitempty"`
	// Grows says which part of the latency grows first, where the capacity is far below the peak
	Grows string `json:"grows,omitempty"`
}

// Summarise reads a variant's capacity from an experiment: from its slices or, without slices, from
// the whole runs of the measured rounds, or from the searches when no round was measured.
func Summarise(exp *record.Experiment, variant string) Result {
	res := Result{Schema: Schema, Variant: variant, SLO: exp.SLO, Data: []float64{}, Steps: []RatePoint{}, Warnings: []string{}}
	runs := exp.Select(func(r *record.Run) bool {
		return r.Spec.Variant == variant && r.Spec.Role != record.RoleControl && r.Spec.Role != record.RoleAblation && !r.Spec.Diagnostic()
	})
	for _, r := range runs {
		res.Steps = append(res.Steps, ratePointOf(r, exp.SLO))
	}
	if len(exp.Slices) > 0 {
		res.ofSlices(exp.Slices, runs)
		if exp.Kind == record.KindCapacity || exp.Kind == record.KindDiagnose {
			res.raisePeak()
		}
	}
	slices.SortStableFunc(res.Steps, func(a, b RatePoint) int {
		return cmp.Or(cmp.Compare(a.Concurrency, b.Concurrency), cmp.Compare(a.OfferedPerS, b.OfferedPerS))
	})
	if len(exp.Slices) > 0 {
		return res
	}
	res.read(runs)
	if onAxis(runs, record.AxisSessions) {
		slices.SortStableFunc(res.Steps, func(a, b RatePoint) int { return cmp.Compare(a.planned(), b.planned()) })
	} else if peak, ok, _ := PeakOf(runs, exp.SLO); ok && onAxis(runs, record.AxisConcurrency) {
		res.Concurrency = peak.Concurrency
	}
	res.Variation = res.variationAtCapacity()
	res.warnShort(runs)
	return res
}

// read takes a sample from each round and summarises the samples.
func (res *Result) read(runs []*record.Run) {
	role := record.RoleSearch
	if slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Spec.Role == record.RoleMeasure }) {
		role = record.RoleMeasure
	}
	rounds := map[int][]*record.Run{}
	for _, r := range runs {
		if r.Spec.Role == role {
			rounds[r.Spec.Round] = append(rounds[r.Spec.Round], r)
		}
	}
	highest := 0.0
	for _, round := range sorted(rounds) {
		peak, ok, warnings := PeakOf(rounds[round], res.SLO)
		for _, w := range warnings {
			if !slices.Contains(res.Warnings, w) {
				res.Warnings = append(res.Warnings, w)
			}
		}
		if ok {
			res.Data = append(res.Data, peak.PerS)
		}
		highest = max(highest, peak.PerS)
	}
	if len(res.Data) == 0 {
		res.CapacityPerS = highest
		res.Reason, res.Bound = whyNot(runs, res.Warnings)
		return
	}
	res.Valid = true
	logs := make([]float64, len(res.Data))
	for i, d := range res.Data {
		logs[i] = math.Log(d)
	}
	res.CapacityPerS = math.Exp(stat.Mean(logs, nil))
	res.Interval = interval(logs)
	if res.Interval == nil {
		res.Warnings = append(res.Warnings, fmt.Sprintf("only %s; an interval needs %d", plural(len(logs), "round counts", "rounds count"), MinData))
	}
}

// whyNot is the reason why no capacity could be read.
func whyNot(runs []*record.Run, warnings []string) (reason, bound string) {
	var last *record.Run
	repeated := false // every invalid run was repeated and then counted
	for _, r := range runs {
		if repeated = r.Invalid == ""; !repeated {
			last = r
		}
	}
	switch {
	case last != nil && last.Totals.Generator.Limited:
		return last.Invalid, BoundGenerator
	case len(warnings) > 0 && (last == nil || repeated):
		return warnings[0], ""
	case last != nil:
		return last.Invalid, ""
	case slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Spec.Role == record.RoleSweep }):
		return "the rates are given, and no capacity is searched", ""
	}
	return "nothing was measured", ""
}

// interval is the 95% t interval of a mean of logarithms, as rates; nil below MinData.
func interval(logs []float64) *[2]float64 {
	n := len(logs)
	if n < MinData {
		return nil
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * deviation / math.Sqrt(float64(n))
	return &[2]float64{math.Exp(mean - half), math.Exp(mean + half)}
}

// variationAtCapacity is the mean coefficient of variation of the met runs within 15% below the
// capacity.
func (res *Result) variationAtCapacity() float64 {
	const below = 0.85
	var all []float64
	for _, s := range res.Steps {
		if s.Met && (s.OfferedPerS >= below*res.CapacityPerS && s.Concurrency == 0 || s.Concurrency > 0 && s.Concurrency == res.Concurrency) {
			all = append(all, s.Variation)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return stat.Mean(all, nil)
}

// warnShort warns about runs that met the SLO with too few completions for their quantiles.
func (res *Result) warnShort(runs []*record.Run) {
	short, least, needed := 0, int64(math.MaxInt64), MinCompletions
	for _, r := range runs {
		needed = leastCompletions(r)
		if r.Invalid == "" && r.Totals.Ended < int64(needed) && checkSLO(r, res.SLO, 0).Met {
			short++
			least = min(least, r.Totals.Ended)
		}
	}
	if short > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%s the SLO with fewer than %s completions, the shortest %d: its %s is uncertain",
			plural(short, "run met", "runs met"), grouped(needed), least, tightest(res.SLO)))
	}
}

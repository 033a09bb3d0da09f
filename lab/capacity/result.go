package capacity

import (
	"cmp"
	"math"
	"slices"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Schema names the JSON form of a Result.
const Schema = "dyno.capacity/1"

// BoundGenerator is a Result's Bound when the load generator, not the target, ended the search.
const BoundGenerator = "the generator"

// MinData is the fewest data that give an interval.
const MinData = 4

// Result is the capacity of one variant.
type Result struct {
	Schema       string      `json:"schema"`
	Variant      string      `json:"variant,omitempty"`
	SLO          record.SLO  `json:"slo"`
	CapacityPerS float64     `json:"capacity_per_s"`        // geometric mean of Data, or of slices the safe rate; when not Valid: the highest rate that was met
	Concurrency  int         `json:"concurrency,omitempty"` // of jobs: at how many units at once
	Interval     *[2]float64 `json:"interval"`              // 95%; nil under MinData data
	Data         []float64   `json:"data"`                  // one capacity per round, or per search when no round was measured
	Steps        []Step      `json:"steps"`                 // by rate
	Variation    float64     `json:"variation"`             // coefficient of variation of the achieved rate, in the runs met nearest to the capacity
	Valid        bool        `json:"valid"`
	AtLeast      bool        `json:"at_least,omitempty"` // CapacityPerS is no more than a lower bound
	Reason       string      `json:"reason"`             // why not valid
	Bound        string      `json:"bound,omitempty"`
	Warnings     []string    `json:"warnings"`

	// The rest is of slices, from which CapacityPerS is the safe rate: 95% of them meet the SLO there.
	KneePerS         float64     `json:"knee_per_s,omitempty"` // half of them do
	KneeInterval     *[2]float64 `json:"knee_interval,omitempty"`
	Votes            int         `json:"votes,omitempty"`           // slices that met the SLO or missed it
	PeakWorkPerS     float64     `json:"peak_work_per_s,omitempty"` // of work slices
	PeakWorkInterval *[2]float64 `json:"peak_work_interval,omitempty"`
}

// Summarise reads a variant's capacity from an experiment: from its slices, or from whole runs, those of the measured
// rounds or of the searches when there are none.
func Summarise(exp *record.Experiment, variant string) Result {
	res := Result{Schema: Schema, Variant: variant, SLO: exp.SLO, Data: []float64{}, Steps: []Step{}, Warnings: []string{}}
	runs := exp.Select(func(r *record.Run) bool {
		return r.Step.Variant == variant && r.Step.Role != record.RoleFloor && r.Step.Role != record.RoleAblation && !r.Step.Diagnostic()
	})
	for _, r := range runs {
		res.Steps = append(res.Steps, stepOf(r, exp.SLO))
	}
	if len(exp.Slices) > 0 {
		res.ofSlices(exp.Slices, runs)
	}
	slices.SortStableFunc(res.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Concurrency, b.Concurrency), cmp.Compare(a.OfferedPerS, b.OfferedPerS))
	})
	if len(exp.Slices) > 0 {
		return res
	}
	res.read(runs)
	if peak, ok, _ := PeakOf(runs, exp.SLO); ok && byConcurrency(runs) {
		res.Concurrency = peak.Concurrency
	}
	res.Variation = res.variationAtCapacity()
	res.warnShort(runs)
	return res
}

// read takes a datum from each round and sums the data up.
func (res *Result) read(runs []*record.Run) {
	role := record.RoleSearch
	if slices.ContainsFunc(runs, func(r *record.Run) bool { return r.Step.Role == record.RoleMeasure }) {
		role = record.RoleMeasure
	}
	rounds := map[int][]*record.Run{}
	for _, r := range runs {
		if r.Step.Role == role {
			rounds[r.Step.Round] = append(rounds[r.Step.Round], r)
		}
	}
	highest := 0.0
	for _, round := range sorted(rounds) {
		datum, ok, warnings := Datum(rounds[round], res.SLO)
		for _, w := range warnings {
			if !slices.Contains(res.Warnings, w) {
				res.Warnings = append(res.Warnings, w)
			}
		}
		if ok {
			res.Data = append(res.Data, datum)
		}
		highest = max(highest, datum)
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
		res.Warnings = append(res.Warnings, "only "+plural(len(logs), "round counts", "rounds count")+"; an interval needs "+count(MinData))
	}
}

// whyNot says why no capacity could be read.
func whyNot(runs []*record.Run, warnings []string) (reason, bound string) {
	var last *record.Run
	repeated := false // what did not count was run again and then did
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
	}
	return "nothing was measured", ""
}

// interval is the 95% t interval of a mean of logarithms, as rates; nil under MinData.
func interval(logs []float64) *[2]float64 {
	n := len(logs)
	if n < MinData {
		return nil
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) * deviation / math.Sqrt(float64(n))
	return &[2]float64{math.Exp(mean - half), math.Exp(mean + half)}
}

// variationAtCapacity is the mean coefficient of variation of the met runs within 15% below the capacity.
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

// warnShort warns of runs that met the SLO with too few completions for their quantiles.
func (res *Result) warnShort(runs []*record.Run) {
	short, least, needed := 0, int64(math.MaxInt64), MinCompletions
	for _, r := range runs {
		needed = leastCompletions(r)
		if r.Invalid == "" && r.Totals.Ended < int64(needed) && judge(r, res.SLO, 0).Met {
			short++
			least = min(least, r.Totals.Ended)
		}
	}
	if short > 0 {
		res.Warnings = append(res.Warnings, plural(short, "run met the SLO with", "runs met the SLO with")+" fewer than "+grouped(needed)+" completions, the shortest "+count(least)+": its "+tightest(res.SLO)+" rests on few")
	}
}

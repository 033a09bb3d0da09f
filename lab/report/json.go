package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"dyno/lab/capacity"
	"dyno/lab/capacity/fit"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
)

// Schemas of the JSON objects of this package; capacity and compare name their own. Keys may be
// added, never changed.
const (
	SchemaRun       = "dyno.run/1"
	SchemaLoad      = "dyno.load/1"
	SchemaDiagnosis = "dyno.diagnosis/1"
)

// JSON writes the report as one object, by the kind of experiment: dyno.load/1, dyno.capacity/1,
// dyno.comparison/1, dyno.diagnosis/1, and dyno.run/1 for ladders and sweeps. Unknown values are
// null.
func JSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.object()); err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	return nil
}

// verdict is the common part of every schema.
type verdict struct {
	Valid    bool           `json:"valid"`
	Reason   string         `json:"reason"` // why not valid
	Warnings []string       `json:"warnings"`
	Answer   string         `json:"answer"`
	Out      string         `json:"out"`
	Turns    *jsonTurns     `json:"turns,omitempty"` // null: the experiment did not take turns
	Outcome  record.Outcome `json:"outcome"`
}

// valid reports whether the experiment was completed with a result.
func (r *Report) valid() bool { return r.Outcome.Status == record.OutcomeComplete }

func (r *Report) verdict() verdict {
	return verdict{Valid: r.valid(), Reason: r.Outcome.Reason, Warnings: list(r.allWarnings()), Answer: r.Answer, Out: r.Out, Turns: r.jsonTurns(), Outcome: r.Outcome}
}

// jsonTurns is the data behind the figures of an experiment by turns.
type jsonTurns struct {
	Blocks      int     `json:"blocks"`
	Generations int     `json:"generations"`
	Slices      int     `json:"slices"`
	Left        int     `json:"slices_left_out"`
	Steal       Value   `json:"steal"`  // median share of the machine
	Others      Value   `json:"others"` // the same for other processes
	Took        float64 `json:"took_s"`
	Budget      float64 `json:"budget_s"`
	Compared    int     `json:"comparisons"`
	Decided     int     `json:"decided"`
}

func (r *Report) jsonTurns() *jsonTurns {
	t := r.Turns
	if t == nil {
		return nil
	}
	return &jsonTurns{t.Blocks, t.Generations, t.Slices, t.Left, t.Steal, t.Others, t.Took.Seconds(), t.Budget.Seconds(), t.Compared, t.Decided}
}

func (r *Report) object() any {
	switch r.Kind {
	case record.KindLoad:
		return r.loadObject()
	case record.KindCapacity:
		return r.capacityObject()
	case record.KindCompare:
		return r.comparedObject()
	case record.KindDiagnose:
		return r.diagnosisObject()
	}
	return r.runObject()
}

type jsonStep struct {
	Name             string    `json:"name"`
	Change           string    `json:"change"`
	Why              string    `json:"why"`
	CapacityPerS     *Value    `json:"capacity_per_s"`
	MetricValue      *Value    `json:"metric_value,omitempty"` // in ms or us, when the metric is not the capacity
	Interval         *Interval `json:"interval"`
	P99Ms            Value     `json:"p99_ms"`
	CPUUsPerRequest  Value     `json:"cpu_us_per_request"`
	AllocsPerRequest Value     `json:"allocs_per_request"`
	BytesPerRequest  Value     `json:"bytes_per_request"`
	PeakRSSBytes     Value     `json:"peak_rss_bytes"`
	PeakGoroutines   Value     `json:"peak_goroutines"`
	GCPauseP99Ms     Value     `json:"gc_pause_p99_ms"`
	Concurrency      *Value    `json:"concurrency,omitempty"` // units in flight, of jobs driven by concurrency
	Beside           string    `json:"beside,omitempty"`      // the variant of the ratios, in a comparison of several
	RatioToBaseline  Value     `json:"ratio_to_baseline"`
	RatioInterval    *Interval `json:"ratio_interval"`
	RatioToBefore    Value     `json:"ratio_to_before"`
	BeforeInterval   *Interval `json:"before_interval"`
	Verdict          string    `json:"verdict"`
	WouldDecide      string    `json:"would_decide,omitempty"`
	*jsonTurned
	BoundBy  *string  `json:"bound_by"` // null: no verdict
	Rounds   int      `json:"rounds"`
	Reason   string   `json:"reason"` // why there is no capacity
	Warnings []string `json:"warnings"`
}

// jsonTurned is the additional fields of a step by turns.
type jsonTurned struct {
	Work         Value     `json:"work_per_s"`
	WorkInterval *Interval `json:"work_interval"`
	CPURatio     Value     `json:"cpu_ratio_to_baseline"`
	CPUInterval  *Interval `json:"cpu_ratio_interval"`
	CPUVerdict   string    `json:"cpu_verdict"`
	Knee         Value     `json:"knee_per_s"`
	KneeInterval *Interval `json:"knee_interval"`
	Votes        int       `json:"votes"`
}

func (r *Report) jsonSteps() []jsonStep {
	out := make([]jsonStep, 0, len(r.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		j := jsonStep{
			Name: s.Name, Change: s.Change, Why: s.Why, Interval: s.Interval,
			P99Ms: s.P99, CPUUsPerRequest: s.CPU, AllocsPerRequest: s.Allocs, BytesPerRequest: s.AllocBytes,
			PeakRSSBytes: s.PeakRSS, PeakGoroutines: s.Goroutines, GCPauseP99Ms: s.GCPauseP99,
			Beside: s.Beside, RatioToBaseline: s.Ratio, RatioInterval: s.RatioInterval, RatioToBefore: s.StepRatio, BeforeInterval: s.StepInterval,
			Verdict: s.Verdict, WouldDecide: s.WouldDecide, Rounds: s.Rounds, Reason: s.Invalid, Warnings: list(s.Warnings),
		}
		if r.Scaling != nil {
			j.Concurrency = &s.AtOnce
		}
		if r.Turns != nil || s.CPURatio.Known() {
			j.jsonTurned = &jsonTurned{s.Work, s.WorkInterval, s.CPURatio, s.CPUInterval, s.CPUVerdict, s.Knee, s.KneeInterval, s.Votes}
		}
		if r.Metric == compare.MetricCapacity || r.Turns != nil {
			j.CapacityPerS = &s.Capacity
		} else {
			j.MetricValue = &s.Capacity
		}
		if d := r.diagnosis(s.Name); d != nil && d.Valid {
			bound := string(d.Bound)
			j.BoundBy = &bound
		}
		out = append(out, j)
	}
	return out
}

type jsonRamp struct {
	Variant   string       `json:"variant"`
	From      Value        `json:"from_per_s"`
	To        Value        `json:"to_per_s"`
	Accepted  Value        `json:"accepted_follows_to_per_s"`
	Delivered Value        `json:"delivered_follows_to_per_s"`
	Moments   []jsonMoment `json:"inflections"`
}

type jsonMoment struct {
	At      Value  `json:"offered_per_s"`
	Joint   bool   `json:"joint"`
	InWords string `json:"in_words"`
}

func (r *Report) jsonRamps() (out []jsonRamp) {
	if r.Sweep == nil {
		return nil
	}
	for _, ramp := range r.Sweep.Ramps {
		one := jsonRamp{ramp.Variant, ramp.From, ramp.To, ramp.Accepted, ramp.Delivered, []jsonMoment{}}
		for _, m := range ramp.Moments {
			one.Moments = append(one.Moments, jsonMoment(m))
		}
		out = append(out, one)
	}
	return out
}

// jsonScaling is one variant's throughput over concurrency.
type jsonScaling struct {
	Variant string             `json:"variant"`
	Units   int                `json:"units,omitempty"`
	Points  []jsonScalingPoint `json:"points"`
	Fits    []fit.Ranked       `json:"fits"` // the best first
	InWords string             `json:"in_words"`
}

type jsonScalingPoint struct {
	Concurrency int            `json:"concurrency"`
	PerS        Value          `json:"per_s"`
	P50Ms       Value          `json:"p50_ms"`
	P95Ms       Value          `json:"p95_ms"`
	P99Ms       Value          `json:"p99_ms"`
	Met         bool           `json:"met"`
	Limits      []record.Limit `json:"limits,omitempty"`
}

func (r *Report) jsonScaling() (out []jsonScaling) {
	if r.Scaling == nil {
		return nil
	}
	for _, c := range r.Scaling.Curves {
		j := jsonScaling{Variant: c.Variant, Units: c.Units, Points: []jsonScalingPoint{}, Fits: c.Ranked, InWords: c.InWords}
		if j.Fits == nil {
			j.Fits = []fit.Ranked{}
		}
		for _, p := range c.Points {
			j.Points = append(j.Points, jsonScalingPoint{p.Concurrency, p.PerS, p.P50, p.P95, p.P99, p.Met, p.Limits})
		}
		out = append(out, j)
	}
	return out
}

type jsonSweepRow struct {
	Variant       string `json:"variant"`
	OfferedPerS   Value  `json:"offered_per_s"`
	AcceptedPerS  Value  `json:"accepted_per_s"`
	DeliveredPerS Value  `json:"delivered_per_s"`
	RefusedPerS   Value  `json:"refused_per_s"`
	P50Ms         Value  `json:"p50_ms"`
	P99Ms         Value  `json:"p99_ms"`
	CPU           Value  `json:"cpu_us_per_request"`
}

func (r *Report) runObject() any {
	all, valid := r.Count()
	var sweep []jsonSweepRow
	if r.Sweep != nil {
		for _, row := range r.Sweep.Rows {
			sweep = append(sweep, jsonSweepRow{row.Variant, row.Offered, row.Accepted, row.Delivered, row.Refused, row.P50, row.P99, row.CPU})
		}
	}
	return struct {
		Schema    string          `json:"schema"`
		Kind      string          `json:"kind"`
		Name      string          `json:"name"`
		Service   string          `json:"service"`
		Metric    string          `json:"metric"`
		Ratio     string          `json:"ratio_metric"` // metric of the steps' ratios
		SLO       record.SLO      `json:"slo"`
		Steps     []jsonStep      `json:"steps"`
		Sweep     []jsonSweepRow  `json:"sweep,omitempty"`
		Ramps     []jsonRamp      `json:"ramps,omitempty"`
		Scaling   []jsonScaling   `json:"scaling,omitempty"`
		Floor     *Interval       `json:"floor"`
		CPUFloor  *Interval       `json:"cpu_floor,omitempty"`
		Runs      int             `json:"runs"`
		RunsValid int             `json:"runs_valid"`
		Diagnoses []jsonDiagnosis `json:"diagnoses,omitempty"`
		Databases []jsonDatabase  `json:"databases,omitempty"`
		verdict
	}{SchemaRun, r.Kind, r.Name, r.Service, r.Metric, r.RatioMetric, r.SLO, r.jsonSteps(), sweep, r.jsonRamps(), r.jsonScaling(), r.Floor, r.CPUFloor, all, valid, r.jsonDiagnoses(), r.jsonDatabases(), r.verdict()}
}

func (r *Report) capacityObject() any {
	c := capacity.Result{SLO: r.SLO, Steps: []capacity.Step{}}
	if r.Capacity != nil {
		c = *r.Capacity
	}
	c.Schema, c.Warnings = capacity.Schema, list(r.allWarnings())
	c.Valid, c.Reason = r.valid(), cmp.Or(r.Outcome.Reason, c.Reason)
	return struct {
		capacity.Result
		Scaling   []jsonScaling  `json:"scaling,omitempty"`
		Databases []jsonDatabase `json:"databases,omitempty"`
		Answer    string         `json:"answer"`
		Out       string         `json:"out"`
		Turns     *jsonTurns     `json:"turns,omitempty"`
		Outcome   record.Outcome `json:"outcome"`
	}{c, r.jsonScaling(), r.jsonDatabases(), r.Answer, r.Out, r.jsonTurns(), r.Outcome}
}

func (r *Report) comparisonObject() any {
	c := compare.Comparison{Metric: r.Metric}
	if r.Comparison != nil {
		c = *r.Comparison
	}
	c.Schema, c.Warnings = compare.Schema, list(r.allWarnings())
	if r.Invalid != "" {
		c.Verdict = compare.Invalid
	}
	metrics := map[string]compare.Comparison{}
	for _, m := range r.Metrics {
		m.Warnings = list(m.Warnings)
		metrics[m.Metric] = m
	}
	return struct {
		compare.Comparison
		Valid     bool            `json:"valid"`
		Reason    string          `json:"reason"`
		SLO       record.SLO      `json:"slo"`
		Steps     []jsonStep      `json:"steps"`
		Scaling   []jsonScaling   `json:"scaling,omitempty"`
		Diagnoses []jsonDiagnosis `json:"diagnoses,omitempty"`
		Databases []jsonDatabase  `json:"databases,omitempty"`
		Answer    string          `json:"answer"`
		Out       string          `json:"out"`
		// by turns: the comparison by each metric
		Metrics map[string]compare.Comparison `json:"metrics,omitempty"`
		Turns   *jsonTurns                    `json:"turns,omitempty"`
		Outcome record.Outcome                `json:"outcome"`
	}{c, r.valid(), r.Outcome.Reason, r.SLO, r.jsonSteps(), r.jsonScaling(), r.jsonDiagnoses(), r.jsonDatabases(), r.Answer, r.Out, metrics, r.jsonTurns(), r.Outcome}
}

// jsonDiagnosis is a diagnosis whose unknown rates are null.
type jsonDiagnosis struct {
	diagnose.Diagnosis
	CapacityPerS Value `json:"capacity_per_s"`
	PeakPerS     Value `json:"peak_per_s"`
}

func newJSONDiagnosis(d diagnose.Diagnosis) jsonDiagnosis {
	return jsonDiagnosis{d, measured(d.CapacityPerS), measured(d.PeakPerS)}
}

func (r *Report) jsonDiagnoses() (out []jsonDiagnosis) {
	for _, d := range r.Diagnoses {
		out = append(out, newJSONDiagnosis(d))
	}
	return out
}

// diagnosisObject is the first variant's diagnosis; with several variants it also contains all of
// them.
func (r *Report) diagnosisObject() any {
	d := newJSONDiagnosis(complete([]diagnose.Diagnosis{{Bound: diagnose.Unknown}})[0])
	all := r.jsonDiagnoses()
	if len(all) > 0 {
		d = all[0]
	}
	if len(all) == 1 {
		all = nil
	}
	return struct {
		Schema   string   `json:"schema"`
		Valid    bool     `json:"valid"` // these three describe the report, not only its first variant
		Reason   string   `json:"reason"`
		Warnings []string `json:"warnings"`
		jsonDiagnosis
		SLO       record.SLO      `json:"slo"`
		Diagnoses []jsonDiagnosis `json:"diagnoses,omitempty"`
		Databases []jsonDatabase  `json:"databases,omitempty"`
		Answer    string          `json:"answer"`
		Out       string          `json:"out"`
		Outcome   record.Outcome  `json:"outcome"`
	}{SchemaDiagnosis, r.valid(), r.Outcome.Reason, list(r.allWarnings()), d, r.SLO, all, r.jsonDatabases(), r.Answer, r.Out, r.Outcome}
}

func (r *Report) loadObject() any {
	run, met := &record.Run{SLO: r.SLO}, (*bool)(nil) // nothing was measured
	if r.Load != nil {
		run = r.Load.Run
		if v := r.Load.Verdict; v != nil && unjudged(*v) == "" {
			met = &r.Load.Verdict.Met
		}
	}
	t := run.Totals
	type generator struct {
		CPU           float64 `json:"cpu_s"`
		CPUPerMillion float64 `json:"cpu_s_per_million"`
		Limited       bool    `json:"limited"`
	}
	var delivery *record.Quantiles
	if t.Delivered+t.Undelivered > 0 {
		delivery = &t.Delivery
	}
	return struct {
		Schema       string                      `json:"schema"`
		Model        string                      `json:"model"`
		Engine       string                      `json:"engine"`
		URL          string                      `json:"url"`
		Duration     Value                       `json:"duration_s"`
		OfferedPerS  float64                     `json:"offered_per_s"`
		AchievedPerS float64                     `json:"achieved_per_s"`
		Sent         int64                       `json:"sent"`
		Completed    int64                       `json:"completed"`
		Unfinished   int64                       `json:"unfinished"`
		Errors       map[string]int64            `json:"errors"`
		Status       map[string]int64            `json:"status"`
		Latency      record.Quantiles            `json:"latency_ms"`
		Service      record.Quantiles            `json:"service_ms"`
		Delivery     *record.Quantiles           `json:"delivery_ms"`
		Classes      map[string]record.Quantiles `json:"classes,omitempty"`
		Lag          record.Lag                  `json:"send_lag_us"`
		Generator    generator                   `json:"generator"`
		SLO          record.SLO                  `json:"slo"`
		Met          *bool                       `json:"slo_met"` // null: no SLO, or it was not judged
		Databases    []jsonDatabase              `json:"databases,omitempty"`
		verdict
	}{
		SchemaLoad, run.Load.Model, run.Load.Engine, run.Load.URL, Value(run.Length.Seconds()), t.OfferedPerS, t.AchievedPerS,
		t.Sent, t.Completed, t.Unfinished, counts(t.Errors), counts(t.Status), t.Response, t.Service, delivery, t.Classes, t.Lag,
		generator{t.Generator.CPUSeconds, t.Generator.CPUPerMillion, t.Generator.Limited}, run.SLO, met, r.jsonDatabases(), r.verdict(),
	}
}

// counts returns an empty map instead of nil.
func counts(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}

// list returns an empty list instead of nil.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

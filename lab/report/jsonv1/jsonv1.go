// Package jsonv1 writes a report as the published JSON of the commands, version 1 of its
// schemas. Keys may be added, never changed.
//
// It computes no result: package report does. It starts no goroutines.
package jsonv1

import (
	"cmp"
	"fmt"
	"io"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/diagnose/changes"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Schemas of the JSON objects of this package; capacity and compare name their own. Keys may be
// added, never changed.
const (
	SchemaRun       = "dyno.run/1"
	SchemaLoad      = "dyno.load/1"
	SchemaDiagnosis = "dyno.diagnosis/1"
)

// Write writes the report as one object, by the kind of experiment: dyno.load/1, dyno.capacity/1,
// dyno.comparison/1, dyno.diagnosis/1, and dyno.run/1 for ladders and sweeps. Unknown values are
// null.
func Write(w io.Writer, r *report.Report) error {
	if err := format.JSON(w, Object(r)); err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	return nil
}

// outcome is the common part of every schema.
type outcome struct {
	Valid    bool               `json:"valid"`
	Reason   string             `json:"reason"` // why not valid
	Warnings []string           `json:"warnings"`
	Answer   string             `json:"answer"`
	Out      string             `json:"out"`
	Turns    *view.TurnsSummary `json:"turns,omitempty"` // null: the experiment did not take turns
	Outcome  record.Outcome     `json:"outcome"`
	Made     report.Made        `json:"made"` // where the result is from
}

func outcomeOf(r *report.Report) outcome {
	return outcome{Valid: r.Complete(), Reason: r.Outcome.Reason, Warnings: format.Filled(r.AllWarnings()), Answer: r.Answer, Out: r.Out, Turns: r.Turns, Outcome: r.Outcome, Made: r.Made}
}

// Object returns what Write encodes; its type has every key of that kind's schema.
func Object(r *report.Report) any {
	switch r.Kind {
	case record.KindLoad:
		return loadObject(r)
	case record.KindCapacity:
		return capacityObject(r)
	case record.KindCompare:
		if r.Several() {
			return runObject(r)
		}
		return comparisonObject(r)
	case record.KindDiagnose:
		return diagnosisObject(r)
	}
	return runObject(r)
}

// stepObjects are the steps of a report, each with every figure of the table report.Figures.
func stepObjects(r *report.Report) []object {
	out := make([]object, 0, len(r.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		o := object{{"name", s.Name}, {"change", s.Change}, {"why", s.Why}}
		if r.Metric == compare.MetricCapacity || r.Turns != nil {
			o = append(o, member{"capacity_per_s", s.Capacity})
		} else {
			o = append(o, member{"capacity_per_s", nil}, member{"metric_value", s.Capacity}) // in ms or us
		}
		o = append(o, member{"interval", s.Interval})
		if s.NoCapacity != "" { // why there is no capacity, although there are other results
			o = append(o, member{"no_capacity", s.NoCapacity}, member{"capacity_at_least_per_s", s.AtLeast})
		}
		for _, f := range report.Figures {
			o = append(o, member{f.Key, s.Figure(f.Key)})
		}
		if r.Scaling != nil {
			o = append(o, member{"concurrency", s.Concurrency}) // units in flight
		}
		if s.Reference != "" {
			o = append(o, member{"beside", s.Reference}) // the variant of the ratios, in a comparison of several
		}
		o = append(o, member{"ratio_to_baseline", s.Ratio}, member{"ratio_interval", s.RatioInterval},
			member{"ratio_to_before", s.StepRatio}, member{"before_interval", s.StepInterval}, member{"verdict", s.Verdict})
		if s.TimeToDecide != "" {
			o = append(o, member{"would_decide", s.TimeToDecide})
		}
		if a := s.Ablation; a != nil { // the last step, over the last step without this one
			o = append(o, member{"ratio_to_without", format.Measured(a.Ratio)}, member{"without_interval", format.IntervalOf(a.Interval)})
		}
		if r.Turns != nil {
			o = append(o, member{"work_per_s", s.Work}, member{"work_interval", s.WorkInterval},
				member{"cpu_ratio_to_baseline", s.CPURatio}, member{"cpu_ratio_interval", s.CPUInterval}, member{"cpu_verdict", s.CPUVerdict},
				member{"knee_per_s", s.Rate50}, member{"knee_interval", s.Rate50Interval}, member{"votes", s.Trials})
		}
		if r.Turns == nil && s.CPURatio.Known() {
			o = append(o, member{"cpu_ratio_to_baseline", s.CPURatio}, member{"cpu_ratio_interval", s.CPUInterval}, member{"cpu_verdict", s.CPUVerdict})
		}
		var bound any // null: no verdict
		if d := r.Diagnosis(s.Name); d != nil && d.Valid {
			bound = d.Bottleneck
		}
		out = append(out, append(o, member{"bound_by", bound}, member{"rounds", s.Rounds},
			member{"reason", s.Invalid}, member{"warnings", format.Filled(s.Warnings)})) // reason: why there is no result
	}
	return out
}

// databaseObjects are the databases of a report, each with every figure of the table
// view.DatabaseFigures.
func databaseObjects(r *report.Report) (out []object) {
	for _, d := range r.Databases {
		o := object{{"variant", d.Variant}, {"run", d.Run}, {"name", d.Name}}
		for _, f := range view.DatabaseFigures {
			o = append(o, member{f.Key, f.Of(d)})
		}
		out = append(out, append(o, member{"remarks", format.Filled(d.Remarks)}))
	}
	return out
}

// scalingCurves are one curve for each variant; nil: the load was a rate.
func scalingCurves(r *report.Report) []view.ScalingCurve {
	if r.Scaling == nil {
		return nil
	}
	return r.Scaling.Curves
}

func runObject(r *report.Report) any {
	all, valid := r.Count()
	sweep := cmp.Or(r.Sweep, &view.Sweep{})
	return struct {
		Schema    string              `json:"schema"`
		Kind      string              `json:"kind"`
		Name      string              `json:"name"`
		Service   string              `json:"service"`
		Metric    string              `json:"metric"`
		Ratio     string              `json:"ratio_metric"` // metric of the steps' ratios
		SLO       record.SLO          `json:"slo"`
		Steps     []object            `json:"steps"`
		Sweep     []view.Row          `json:"sweep,omitempty"`
		Ramps     []view.Ramp         `json:"ramps,omitempty"`
		Scaling   []view.ScalingCurve `json:"scaling,omitempty"`
		Sessions  view.SessionRuns    `json:"sessions,omitempty"`
		Floor     *format.Interval    `json:"floor"`
		CPUFloor  *format.Interval    `json:"cpu_floor,omitempty"`
		Runs      int                 `json:"runs"`
		RunsValid int                 `json:"runs_valid"`
		Diagnoses []diagnosis         `json:"diagnoses,omitempty"`
		Databases []object            `json:"databases,omitempty"`
		outcome
	}{SchemaRun, r.Kind, r.Name, r.Service, r.Metric, r.RatioMetric, r.SLO, stepObjects(r), sweep.Rows, sweep.Ramps, scalingCurves(r), r.SessionRuns, r.NoiseFloor, r.CPUNoiseFloor, all, valid, diagnoses(r), databaseObjects(r), outcomeOf(r)}
}

func capacityObject(r *report.Report) any {
	c := capacity.Result{SLO: r.SLO, Steps: []capacity.RatePoint{}}
	if r.Capacity != nil {
		c = *r.Capacity
	}
	c.Schema, c.Warnings = capacity.Schema, format.Filled(r.AllWarnings())
	c.Valid, c.Reason = r.Complete(), cmp.Or(r.Outcome.Reason, c.Reason)
	return struct {
		capacity.Result
		Scaling   []view.ScalingCurve `json:"scaling,omitempty"`
		Databases []object            `json:"databases,omitempty"`
		Answer    string              `json:"answer"`
		Out       string              `json:"out"`
		Turns     *view.TurnsSummary  `json:"turns,omitempty"`
		Outcome   record.Outcome      `json:"outcome"`
		Made      report.Made         `json:"made"`
	}{c, scalingCurves(r), databaseObjects(r), r.Answer, r.Out, r.Turns, r.Outcome, r.Made}
}

func comparisonObject(r *report.Report) any {
	c := compare.Comparison{Metric: r.Metric}
	if r.Comparison != nil {
		c = *r.Comparison
	}
	c.Schema, c.Warnings = compare.Schema, format.Filled(r.AllWarnings())
	if r.Invalid != "" {
		c.Verdict = compare.Invalid
	}
	metrics := map[string]compare.Comparison{}
	for _, m := range r.Metrics {
		m.Warnings = format.Filled(m.Warnings)
		metrics[m.Metric] = m
	}
	return struct {
		compare.Comparison
		Valid     bool                `json:"valid"`
		Reason    string              `json:"reason"`
		SLO       record.SLO          `json:"slo"`
		Steps     []object            `json:"steps"`
		Scaling   []view.ScalingCurve `json:"scaling,omitempty"`
		Diagnoses []diagnosis         `json:"diagnoses,omitempty"`
		Databases []object            `json:"databases,omitempty"`
		Answer    string              `json:"answer"`
		Out       string              `json:"out"`
		// by turns: the comparison by each metric
		Metrics map[string]compare.Comparison `json:"metrics,omitempty"`
		Turns   *view.TurnsSummary            `json:"turns,omitempty"`
		Changes *changes.Changes              `json:"changes,omitempty"`
		Outcome record.Outcome                `json:"outcome"`
		Made    report.Made                   `json:"made"`
	}{c, r.Complete(), r.Outcome.Reason, r.SLO, stepObjects(r), scalingCurves(r), diagnoses(r), databaseObjects(r), r.Answer, r.Out, metrics, r.Turns, r.Changes, r.Outcome, r.Made}
}

// diagnosis is a diagnosis whose unknown rates are null.
type diagnosis struct {
	diagnose.Diagnosis
	CapacityPerS format.Value `json:"capacity_per_s"`
	PeakPerS     format.Value `json:"peak_per_s"`
}

func newDiagnosis(d diagnose.Diagnosis) diagnosis {
	return diagnosis{d, format.Measured(d.CapacityPerS), format.Measured(d.PeakPerS)}
}

func diagnoses(r *report.Report) (out []diagnosis) {
	for _, d := range r.Diagnoses {
		out = append(out, newDiagnosis(d))
	}
	return out
}

// diagnosisObject is the first variant's diagnosis; with several variants it also contains all of
// them.
func diagnosisObject(r *report.Report) any {
	d := newDiagnosis(view.Complete([]diagnose.Diagnosis{{Bottleneck: rules.Unknown}})[0])
	all := diagnoses(r)
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
		diagnosis
		SLO       record.SLO     `json:"slo"`
		Diagnoses []diagnosis    `json:"diagnoses,omitempty"`
		Databases []object       `json:"databases,omitempty"`
		Answer    string         `json:"answer"`
		Out       string         `json:"out"`
		Outcome   record.Outcome `json:"outcome"`
		Made      report.Made    `json:"made"`
	}{SchemaDiagnosis, r.Complete(), r.Outcome.Reason, format.Filled(r.AllWarnings()), d, r.SLO, all, databaseObjects(r), r.Answer, r.Out, r.Outcome, r.Made}
}

func loadObject(r *report.Report) any {
	run, met := &record.Run{SLO: r.SLO}, (*bool)(nil) // nothing was measured
	if r.Load != nil {
		run = r.Load.Run
		if v := r.Load.Verdict; v != nil && format.Inconclusive(*v) == "" {
			met = &r.Load.Verdict.Met
		}
	}
	t := run.Totals
	type generator struct {
		CPU           float64        `json:"cpu_s"`
		CPUPerMillion float64        `json:"cpu_s_per_million"`
		Limited       bool           `json:"limited"`
		Agents        []record.Agent `json:"agents,omitempty"`
	}
	var delivery *record.Quantiles
	if t.Delivered+t.Undelivered > 0 {
		delivery = &t.Delivery
	}
	latency, service, lag := &t.Response, &t.Service, &t.Lag
	if t.ReceiveOnly() {
		latency, service, lag = nil, nil, nil
	}
	return struct {
		Schema       string                      `json:"schema"`
		Model        string                      `json:"model"`
		Engine       string                      `json:"engine"`
		Protocol     string                      `json:"protocol,omitempty"`
		URL          string                      `json:"url"`
		Duration     format.Value                `json:"duration_s"`
		OfferedPerS  float64                     `json:"offered_per_s"`
		AchievedPerS float64                     `json:"achieved_per_s"`
		Sent         int64                       `json:"sent"`
		Completed    int64                       `json:"completed"`
		Unfinished   int64                       `json:"unfinished"`
		Errors       map[string]int64            `json:"errors"`
		Status       map[string]int64            `json:"status"`
		Latency      *record.Quantiles           `json:"latency_ms"` // null, like the next and send_lag_us: sessions only received
		Service      *record.Quantiles           `json:"service_ms"`
		Delivery     *record.Quantiles           `json:"delivery_ms"`
		Classes      map[string]record.Quantiles `json:"classes,omitempty"`
		Steps        []string                    `json:"flow_steps,omitempty"` // of flows: the classes, in order
		Flow         *record.Quantiles           `json:"flow_ms,omitempty"`
		Lag          *record.Lag                 `json:"send_lag_us"`
		Generator    generator                   `json:"generator"`
		SLO          record.SLO                  `json:"slo"`
		Met          *bool                       `json:"slo_met"` // null: no SLO, or it was not judged
		Sessions     *record.Sessions            `json:"sessions,omitempty"`
		Databases    []object                    `json:"databases,omitempty"`
		outcome
	}{
		SchemaLoad, run.Load.Model, run.Load.Engine, run.Load.Protocol, run.Load.URL, format.Value(run.Length.Seconds()), t.OfferedPerS, t.ThroughputPerS,
		t.Sent, t.Completed, t.Unfinished, counts(t.Errors), counts(t.Status), latency, service, delivery, t.Classes, run.Load.Steps, t.Flow, lag,
		generator{t.Generator.CPUSeconds, t.Generator.CPUPerMillion, t.Generator.Limited, t.Generator.Agents}, run.SLO, met, t.Sessions, databaseObjects(r), outcomeOf(r),
	}
}

// counts returns an empty map instead of nil.
func counts(m map[string]int64) map[string]int64 {
	if m == nil {
		return map[string]int64{}
	}
	return m
}

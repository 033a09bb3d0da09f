// Package report is the model of a report: what an experiment's records and analyses show, the
// sentences of its answer, and the table of a step's figures.
//
// Build makes the model, a Report. Package sections puts it into the sections that text (terminal
// and Markdown) and html show; jsonv1 writes it as JSON, and package live reads it as well. An
// unknown value is shown as unknown, with the reason.
//
// It is not for judging (capacity judges loads, compare compares variants), for running anything,
// or for serving the page (live). It starts no goroutines.
package report

import (
	"time"

	"dyno/lab/capacity"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/diagnose/changes"
	"dyno/lab/record"
	"dyno/lab/report/format"
	"dyno/lab/report/view"
)

// Names of the files that show a report, next to the record. An experiment that has ended has a
// page.
const (
	PageFile     = "report.html"
	MarkdownFile = "report.md"
)

// Report is the view model of an experiment.
type Report struct {
	Kind     string // record.Kind...
	Name     string
	Title    string // subject of the measurement, and its kind
	Subject  string // a service, or a URL's host and path
	Service  string
	Metric   string // compare.Metric...: the metric of the ratios
	Answer   string // the result in one sentence
	Outcome  record.Outcome
	Invalid  string // the outcome's reason if it is record.OutcomeInvalid; empty: there is a result
	SLO      record.SLO
	Started  time.Time
	Out      string // the experiment's folder
	Command  []string
	Scenario string
	Machine  record.Machine
	Made     Made
	Warnings []string

	Steps []VariantResult // the variants in ladder order; empty for a single load
	// NoiseFloor is the ratio of the baseline to itself, and CPUNoiseFloor that by CPU per request, by
	// turns or of compared jobs; nil: not measured often enough. NoiseFloorIncluded means that the
	// intervals of the ratios are wider by it.
	NoiseFloor         *format.Interval
	CPUNoiseFloor      *format.Interval
	NoiseFloorIncluded bool

	Comparison *compare.Comparison // kind compare: by the requested metric
	Turns      *view.TurnsSummary  // nil: the variants took turns by whole runs, or there was one
	// RatioMetric is the metric of the ratios in Steps.
	RatioMetric string
	Metrics     []compare.Comparison // kind compare by turns: by every metric, Comparison first
	Pairs       []Pair               // kind compare
	Capacity    *capacity.Result     // kind capacity
	Trials      []view.TrialRow      // kind capacity by turns
	Load        *view.SingleLoad     // kind load: its first run
	Sweep       *view.Sweep          // kind sweep, over rates
	Scaling     *view.Scaling        // jobs over concurrency; nil: the load was a rate
	SessionRuns view.SessionRuns     // runs with a number of sessions, which a capacity then is; nil: there are none

	Changes   *changes.Changes     // kind compare: functions whose cost changed; nil: no profiles
	Diagnoses []diagnose.Diagnosis // of the diagnosed variants
	Flames    *view.Profiles       // nil: no profiles
	Pauses    []view.Pauses        // of the variants with an agent
	Stages    []view.Staged        // of the variants with traced requests
	Databases []view.Database      // of the variants that report database gauges

	// kinds load and sweep: moments at which rate, p99 or GC pauses changed
	Inflections     []view.Inflection
	InflectionsLeft int // number not listed

	Curves     []view.Curve  // latency against the offered rate
	Ratios     []view.Ratios // kind compare: pair by pair, the requested metric first
	Charts     []view.Chart  // kind sweep: figures against the offered rate
	Runs       []view.Run
	Traces     []view.Trace
	TracesLeft int // runs whose series would make the page too large
	Assemblies []view.Assembly
}

// VariantResult is a variant with its capacity: a row of the table of steps. Figures are medians over
// the rounds, read from each round's highest rate that met the SLO; peaks are the highest of those.
type VariantResult struct {
	Name     string
	Change   string
	Why      string
	Capacity format.Value // requests/s; p99 in ms or CPU in us per request when that is the metric
	Interval *format.Interval
	Rounds   int // number of samples behind the capacity

	Concurrency format.Value // units in flight; unknown: the load was a rate
	Waits       string       // limits that a job reported at its capacity
	Tail        format.Value // ms, the quantile that the SLO of a job bounds first

	Figures map[string]format.Value // the measured figures, by their keys

	// By turns: the peak work rate, and the rate at which half of the slices meet the SLO; both per
	// second.
	Work           format.Value
	WorkInterval   *format.Interval
	Rate50         format.Value
	Rate50Interval *format.Interval
	Trials         int              // slices behind the capacity
	CPURatio       format.Value     // to the baseline
	CPUInterval    *format.Interval // of CPURatio
	CPUVerdict     string           // against the previous step

	Reference     string       // the variant that a comparison of several compares it with; empty: none
	Ratio         format.Value // to the baseline, by the report's RatioMetric
	RatioInterval *format.Interval
	StepRatio     format.Value // to the previous step
	StepInterval  *format.Interval
	Ablation      *compare.Comparison // the last step over the last without this one; nil: not measured
	Verdict       string              // against the previous step
	BaseVerdict   string              // compare.Faster...: against the baseline, or against Reference; empty: not compared
	TimeToDecide  string              // time that would decide a verdict compare.NotDecided
	NoCapacity    string              // why there is no capacity, or only AtLeast, although there are other results
	AtLeast       format.Value        // lower bound of the capacity, per second
	Invalid       string              // why there is no result
	Warnings      []string
}

// Baseline is the verdict of the step that others are compared with.
const Baseline = "baseline"

// Pair is one round of a comparison.
type Pair struct {
	Round int
	A, B  format.Value
	Ratio format.Value
}

// Count returns the number of runs, and of valid runs.
func (r *Report) Count() (all, valid int) {
	for _, run := range r.Runs {
		if run.Invalid == "" {
			valid++
		}
	}
	return len(r.Runs), valid
}

// Complete reports whether the experiment was completed with a result.
func (r *Report) Complete() bool { return r.Outcome.Status == record.OutcomeComplete }

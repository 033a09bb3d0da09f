// Package report presents the result of an experiment, read from its folder and the analysis
// packages: as one HTML page that needs no network, as Markdown for a pull request, as a table on a
// terminal, and as the JSON of the command line.
//
// Build makes the view model, a Report; the renderers are pure functions of it. An unknown value is
// shown as unknown, with the reason.
//
// It is not for judging (capacity judges loads, compare compares variants), for running anything,
// or for serving the page (live). It starts no goroutines.
package report

import (
	"encoding/json"
	"html/template"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/capacity/queueing"
	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
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
	Warnings []string

	Steps      []Step              // the variants in ladder order; empty for a single load
	Floor      *Interval           // ratio of the baseline to itself; nil: not measured often enough
	CPUFloor   *Interval           // the same by CPU per request; only by turns
	Comparison *compare.Comparison // kind compare: by the requested metric
	Turns      *Turns              // nil: the variants took turns by whole runs, or there was one
	// RatioMetric is the metric of the ratios in Steps.
	RatioMetric string
	Metrics     []compare.Comparison // kind compare by turns: by every metric, Comparison first
	Pairs       []Pair               // kind compare
	Capacity    *capacity.Result     // kind capacity
	Votes       []VoteRow            // kind capacity by turns
	Load        *LoadResult          // kind load: its first run
	Sweep       *Sweep               // kind sweep, over rates
	Scaling     *Scaling             // jobs over concurrency; nil: the load was a rate

	Diagnoses []diagnose.Diagnosis // of the diagnosed variants
	Flames    *Flames              // nil: no profiles
	Pauses    []Pauses             // of the variants with an agent
	Stages    []Staged             // of the variants with traced requests
	Databases []Database           // of the variants that report database gauges

	// kinds load and sweep: moments at which rate, p99 or GC pauses changed
	Inflections     []Inflection
	InflectionsLeft int // number not listed

	Curves     []Curve  // latency against the offered rate
	Ratios     []Ratios // kind compare: pair by pair, the requested metric first
	Charts     []Chart  // kind sweep: figures against the offered rate
	Runs       []Run
	Traces     []Trace
	TracesLeft int // runs whose series would make the page too large
	Assemblies []Assembly
}

// Step is a variant with its capacity. Resources are medians over the rounds, read from each
// round's highest rate that met the SLO; peaks are the highest of those.
type Step struct {
	Name     string
	Change   string
	Why      string
	Capacity Value // requests/s; p99 in ms or CPU in us per request when that is the metric
	Interval *Interval
	Rounds   int // number of samples behind the capacity

	AtOnce Value  // units in flight; unknown: the load was a rate
	Waits  string // limits that a job reported at its capacity
	Tail   Value  // ms, the quantile that the SLO of a job bounds first

	P99        Value // ms, of the latency that the SLO bounds
	CPU        Value // us per request
	Allocs     Value // per request
	AllocBytes Value // per request
	PeakRSS    Value // bytes
	Goroutines Value // highest seen
	GCPauseP99 Value // ms

	// By turns: the peak work rate, and the rate at which half of the slices meet the SLO; both per
	// second.
	Work         Value
	WorkInterval *Interval
	Knee         Value
	KneeInterval *Interval
	Votes        int       // slices behind the capacity
	CPURatio     Value     // to the baseline
	CPUInterval  *Interval // of CPURatio
	CPUVerdict   string    // against the previous step

	Beside        string // the variant that a comparison of several compares it with; empty: none
	Ratio         Value  // to the baseline, by the report's RatioMetric
	RatioInterval *Interval
	StepRatio     Value // to the previous step
	StepInterval  *Interval
	LeaveOut      *compare.Comparison // the last step without this one; nil: not measured
	Verdict       string              // in words, against the previous step
	WouldDecide   string              // time that would settle a verdict compare.NotDecided
	Invalid       string              // why there is no capacity
	Warnings      []string
}

// Pair is one round of a comparison.
type Pair struct {
	Round int
	A, B  Value
	Ratio Value
}

// LoadResult is one load in detail.
type LoadResult struct {
	Run     *record.Run
	Verdict *capacity.Verdict // nil: no SLO
	Tails   []Tail
}

// Tail is the upper part of a latency distribution.
type Tail struct {
	Name   string
	Points []TailPoint
}

// TailPoint is a quantile: a share of the requests took at most Ms.
type TailPoint struct {
	Share float64
	Ms    float64
}

// Sweep is the result of a list of declared loads.
type Sweep struct {
	Rows   []SweepRow
	Panels []*Panel
	Ramps  []Ramp

	axes string // effect of each axis, in words; empty: the variants were listed
}

// Panel is the variants with the same offered rates, which can be compared.
type Panel struct {
	Name   string // common part of their names; empty: there is one panel
	Cells  []Cell // flow of each variant's offers; none: a chart holds them all
	At     Value  // the offered rate at which the queues are compared, per second
	Queues []Queue

	variants []record.Variant
	short    map[string]string // variant -> its name within the panel
}

// Cell is a small chart of one variant.
type Cell struct {
	Name string
	SVG  template.HTML
}

// Ramp is a run under a rising rate.
type Ramp struct {
	Variant   string
	From, To  Value // offered, per second
	Accepted  Value // offered rate up to which all offers were accepted; 0: never
	Delivered Value // the same for deliveries
	Moments   []Moment
}

// Moment is when rate, p99 or GC pauses of a run under a rising rate changed.
type Moment struct {
	At      Value // offered, per second
	Joint   bool  // rate, p99 and GC together
	InWords string
}

// SweepRow is a variant under one offered rate; medians over its rounds, per second.
type SweepRow struct {
	Variant   string
	Offered   Value
	Accepted  Value
	Delivered Value
	Refused   Value
	P50, P99  Value // ms
	CPU       Value // us per request
	Runs      int
}

// Queue is a bounded queue as measured, with its theoretical prediction.
type Queue struct {
	queueing.Point
	OnFront   bool
	Predicted *queueing.Prediction // nil: the service did not report its service rate
}

// Inflection is a moment at which rate, p99 or GC pauses changed.
type Inflection struct {
	Run     string
	AtS     float64 // s from the first measured instant
	Joint   bool    // rate, p99 and GC together
	InWords string
}

// Run is one line of the list of runs.
type Run struct {
	ID        string
	Role      string
	Variant   string
	Round     int
	Offered   Value // per second
	Achieved  Value
	Delivered Value
	P50, P99  Value // ms, of the latency that the SLO bounds
	Errors    Value // share of offers
	CPU       Value // us per request
	Met       bool
	Judged    bool   // the run has an SLO
	Unjudged  string // why the run neither met nor missed its SLO
	Misses    []string
	Invalid   string
	Warnings  []string
}

// Assembly is the resolved assembly of a variant.
type Assembly struct {
	Variant string
	Command string
	Args    string
	JSON    json.RawMessage // indented; nil: the target has no agent
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

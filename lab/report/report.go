// Package report is what people look at: an experiment read from its folder, with what the analyses say
// of it, as one HTML page that needs no network, as Markdown for a pull request, as a table on a
// terminal, and as the JSON of the command line.
//
// Build makes the view model, a Report; the renderers are pure functions of it. The package judges
// nothing itself: whether a load was carried is said by capacity, whether one variant beats another by
// compare, and what neither could say is shown as unknown, with the reason.
//
// It is not for running anything, nor for serving the page (live). It starts no goroutines.
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
	Title    string // what was measured, and how
	Subject  string // a service, or a URL's host and path
	Service  string
	Metric   string // compare.Metric...: what the ratios are ratios of
	Answer   string // the result in one sentence
	Outcome  record.Outcome
	Invalid  string // the outcome's reason where it is record.OutcomeInvalid; empty: there is a result
	SLO      record.SLO
	Started  time.Time
	Out      string // the experiment's folder
	Command  []string
	Scenario string
	Machine  record.Machine
	Warnings []string

	Steps      []Step              // the variants in ladder order; empty for a single load
	Floor      *Interval           // ratio of the baseline to itself; nil: not measured often enough
	CPUFloor   *Interval           // likewise by CPU per request; only by turns
	Comparison *compare.Comparison // kind compare: by the metric that was asked for
	Turns      *Turns              // nil: the variants took turns by whole runs, or there was one
	// RatioMetric is what the ratios of Steps are ratios of.
	RatioMetric string
	Metrics     []compare.Comparison // kind compare by turns: by every metric, Comparison first
	Pairs       []Pair               // kind compare
	Capacity    *capacity.Result     // kind capacity
	Votes       []VoteRow            // kind capacity by turns
	Load        *LoadResult          // kind load: its first run
	Sweep       *Sweep               // kind sweep, over rates
	Scaling     *Scaling             // jobs over units at once; nil: the load was a rate

	Diagnoses []diagnose.Diagnosis // of the variants that were looked into
	Flames    *Flames              // nil: nothing was profiled
	Pauses    []Pauses             // of the variants that have an agent
	Stages    []Staged             // of the variants whose requests were traced
	Databases []Database           // of the variants that told of theirs

	Inflections     []Inflection // kinds load and sweep: moments at which a run gave way
	InflectionsLeft int          // how many more there were

	Curves     []Curve  // latency against the offered rate
	Ratios     []Ratios // kind compare: pair by pair, the metric that was asked for first
	Charts     []Chart  // kind sweep: figures against the offered rate
	Runs       []Run
	Traces     []Trace
	TracesLeft int // runs whose series would make the page too large
	Assemblies []Assembly
}

// Step is a variant and what it carried. Resources are medians over the rounds, read from each round's
// highest rate that met the SLO; peaks are the highest of those.
type Step struct {
	Name     string
	Change   string
	Why      string
	Capacity Value // requests/s; p99 in ms or CPU in us per request when that is the metric
	Interval *Interval
	Rounds   int // how many data the capacity rests on

	AtOnce Value  // units under way at once; unknown: the load was a rate
	Waits  string // what a job said it waited for at its capacity
	Tail   Value  // ms, the quantile that the SLO of a job bounds first

	P99        Value // ms, of what the SLO is measured on
	CPU        Value // us per request
	Allocs     Value // per request
	AllocBytes Value // per request
	PeakRSS    Value // bytes
	Goroutines Value // highest seen
	GCPauseP99 Value // ms

	// Of turns: the peak work rate, and the rate at which half of the slices meet the SLO; both per second.
	Work         Value
	WorkInterval *Interval
	Knee         Value
	KneeInterval *Interval
	Votes        int       // slices that the capacity rests on
	CPURatio     Value     // to the baseline
	CPUInterval  *Interval // of CPURatio
	CPUVerdict   string    // against the step before

	Ratio         Value // to the baseline, by the report's RatioMetric
	RatioInterval *Interval
	StepRatio     Value // to the step before
	StepInterval  *Interval
	LeaveOut      *compare.Comparison // what the last step loses without this one; nil: not measured
	Verdict       string              // in words, against the step before
	WouldDecide   string              // what would decide a verdict that is compare.NotDecided
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
	Verdict *capacity.Verdict // nil: no SLO was asked for
	Tails   []Tail
}

// Tail is a latency distribution towards its slowest.
type Tail struct {
	Name   string
	Points []TailPoint
}

// TailPoint says that a share of the requests took at most so long.
type TailPoint struct {
	Share float64
	Ms    float64
}

// Sweep is what a list of declared loads showed.
type Sweep struct {
	Rows   []SweepRow
	Panels []*Panel
	Ramps  []Ramp

	axes string // what each axis did, in words; empty: the variants were listed
}

// Panel is the variants that were offered the same rates, and so can be set against one another.
type Panel struct {
	Name   string // what they have in common; empty: they are all there are
	Cells  []Cell // what became of each one's offers; none: a chart holds them all
	At     Value  // the offered rate at which the queues are set against one another, per second
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
	Accepted  Value // offered rate up to which as much was accepted; 0: never
	Delivered Value // likewise
	Moments   []Moment
}

// Moment is when a run under a rising rate gave way.
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

// Queue is a bounded queue as measured, beside what theory says of it.
type Queue struct {
	queueing.Point
	OnFront   bool
	Predicted *queueing.Prediction // nil: the service did not say how fast it serves
}

// Inflection is a moment at which a run gave way.
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
	P50, P99  Value // ms, of what the SLO is measured on
	Errors    Value // share of offers
	CPU       Value // us per request
	Met       bool
	Judged    bool   // there was an SLO to meet
	Unjudged  string // why the run shows neither that it met the SLO nor that it missed it
	Misses    []string
	Invalid   string
	Warnings  []string
}

// Assembly is what a variant resolved to.
type Assembly struct {
	Variant string
	Command string
	Args    string
	JSON    json.RawMessage // indented; nil: the target has no agent
}

// Count returns how many runs there are and how many of them count.
func (r *Report) Count() (all, valid int) {
	for _, run := range r.Runs {
		if run.Invalid == "" {
			valid++
		}
	}
	return len(r.Runs), valid
}

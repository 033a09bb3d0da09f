// Package capacity finds the highest rate that a target carries within its service level objective
// (SLO), and says what a recorded search showed. Judge reads one run, Search plans the next one, Datum
// reads one number from a search, Summarise reads a variant's result from an experiment, and Inflections
// finds the moments in a long run at which a target gave way. Its subpackages hold the scaling fits (fit)
// and the queues that theory can predict (queueing).
//
// Everything here is a pure function of what was recorded. The package does not drive, start or probe
// anything, does not compare variants (compare), and does not say what bounds a target (diagnose). It
// starts no goroutines.
package capacity

import (
	"time"

	"dyno/lab/record"
)

// MinCompletions is how many completions a step needs before its p99 is worth reading: 20 requests lie
// beyond it then.
const MinCompletions = 2000

// Verdict says whether a run met its SLO.
type Verdict struct {
	Met      bool     `json:"met"`
	TooShort bool     `json:"too_short,omitempty"` // fewer completions than its quantiles need; then not Met
	Misses   []string `json:"misses,omitempty"`    // in words; empty when Met
	Warnings []string `json:"warnings,omitempty"`
	// Strain is ln(observed / bound) of the criterion nearest to its bound or furthest past it: above 0
	// the SLO was missed, -0.69 is half of what was allowed. Worst names that criterion: a quantile
	// (p99), errors, achieved, delivered, trend or a gauge.
	Strain float64 `json:"strain"`
	Worst  string  `json:"worst,omitempty"`
	Trend  Trend   `json:"trend"` // of the latency within the run
}

// Trend is a straight line through a run's windows.
type Trend struct {
	PerSecond float64 `json:"per_s"` // change per second, in the unit of what was fitted (latency: ms)
	End       float64 `json:"end"`   // the line's value at the last window
	T         float64 `json:"t"`     // slope over its standard error, corrected for windows that resemble their neighbours
	Clear     bool    `json:"clear"` // |T| is beyond what a steady run shows
}

// Search plans the runs that find the capacity of one target. Its zero values are the documented
// defaults; SLO, Start and Length are needed. It keeps nothing: the plan is read from the runs alone.
type Search struct {
	SLO record.SLO
	// Start is the first rate, Max the highest that may be offered, in 1/s. Max 0: no limit.
	Start, Max float64
	// Tolerance is how far apart, as a share, the highest rate met and the lowest rate missed may be at
	// the end. 0: 0.05.
	Tolerance float64
	// Confirm asks for a longer run at the rate that was found (Step.Hold).
	Confirm bool
	// MinCompletions is how many completions a step is made long enough for. 0: MinCompletions (2,000).
	MinCompletions int
	// Length is the shortest measured time of a step; Warmup is what the executor drives before it. A
	// hold is long enough for a queue to fill, warm-up included.
	Length, Warmup time.Duration
	// Bracket, when set, holds the rates between which the capacity is believed to lie: the search then
	// takes one datum within two to five runs instead of starting from nothing.
	Bracket [2]float64
}

// Step is one measured rate of a capacity curve.
type Step struct {
	Run            string             `json:"run,omitempty"`
	Role           string             `json:"role,omitempty"`
	Round          int                `json:"round,omitempty"`
	Hold           bool               `json:"hold,omitempty"`
	OfferedPerS    float64            `json:"offered_per_s"`
	AchievedPerS   float64            `json:"achieved_per_s"`
	DeliveredPerS  float64            `json:"delivered_per_s,omitempty"`
	P50Ms          float64            `json:"p50_ms"` // of what the SLO is measured on
	P99Ms          float64            `json:"p99_ms"`
	P999Ms         float64            `json:"p999_ms"`
	Errors         float64            `json:"errors"`                       // share of offers
	CPU            float64            `json:"cpu"`                          // cores the target used
	CPUPerRequest  float64            `json:"cpu_us_per_request,omitempty"` // us
	GCShare        float64            `json:"gc_share,omitempty"`           // of the target's CPU
	GCPauseP99Ms   float64            `json:"gc_pause_p99_ms,omitempty"`
	PeakGoroutines int64              `json:"peak_goroutines,omitempty"`
	Gauges         map[string]float64 `json:"gauges,omitempty"` // each gauge's maximum
	Variation      float64            `json:"variation"`        // coefficient of variation of the achieved rate
	Met            bool               `json:"met"`
	Misses         []string           `json:"misses,omitempty"`
	Invalid        string             `json:"invalid,omitempty"`
}

// Schema names the JSON form of a Result.
const Schema = "dyno.capacity/1"

// BoundGenerator is a Result's Bound when the load generator, not the target, ended the search.
const BoundGenerator = "the generator"

// Result is the capacity of one variant.
type Result struct {
	Schema       string      `json:"schema"`
	Variant      string      `json:"variant,omitempty"`
	SLO          record.SLO  `json:"slo"`
	CapacityPerS float64     `json:"capacity_per_s"` // when not Valid: the highest rate that was met
	Interval     *[2]float64 `json:"interval"`       // 95%; nil under six data
	Data         []float64   `json:"data"`           // one capacity per round or search
	Steps        []Step      `json:"steps"`          // by rate
	Variation    float64     `json:"variation"`      // of the achieved rate within the steps nearest to the capacity
	Valid        bool        `json:"valid"`
	Reason       string      `json:"reason"` // why not valid
	Bound        string      `json:"bound,omitempty"`
	Warnings     []string    `json:"warnings"`
}

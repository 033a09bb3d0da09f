package capacity

import "dyno/lab/record"

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

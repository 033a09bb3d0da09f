// Package compare says whether one variant of a target beats another: the ratio of paired data with its
// confidence interval, the order in which fresh measurements are taken so that drift cancels, the ladder
// of a sequence of variants, and the gate that a build passes or fails.
//
// Everything here is a pure function of what was recorded. What a datum is (a capacity, a p99) is the
// caller's: the package knows nothing of how one is found (capacity). It starts no goroutines.
package compare

import "time"

// Schema names the JSON form of a Comparison.
const Schema = "dyno.comparison/1"

// Metrics that can be compared. More capacity is better; less p99 and CPU are better.
const (
	MetricCapacity = "capacity"
	MetricWork     = "work" // peak work rate: what slices of a fixed number of requests show
	MetricP99      = "p99"
	MetricCPU      = "cpu"
)

// Verdicts of a comparison, read from its interval alone. Faster always means that b is better than a. A difference that
// is clear and within 2% is Faster or Slower, not Equal.
const (
	Faster     = "faster"
	Slower     = "slower"
	Equal      = "equal within 2%"
	NotDecided = "not decided"
	Invalid    = "invalid" // there is nothing to compare
)

// MinPairs is the fewest pairs that give an interval.
const MinPairs = 4

// Comparison is what paired data showed.
type Comparison struct {
	Schema   string      `json:"schema"`
	Metric   string      `json:"metric"`
	A        string      `json:"a"`
	B        string      `json:"b"`
	Ratio    float64     `json:"ratio"`    // b over a, geometric mean
	Interval *[2]float64 `json:"interval"` // nil under MinPairs
	Pairs    int         `json:"pairs"`    // data of either side; of turns: batches of blocks
	Floor    *[2]float64 `json:"floor"`    // the interval of the baseline against itself; nil when not measured often enough
	Verdict  string      `json:"verdict"`
	Warnings []string    `json:"warnings"`

	// Confidence is Interval's, 0.95 to 0.985 by how often a comparison by turns was looked at; 0: 0.95.
	Confidence float64 `json:"confidence,omitempty"`
	Blocks     int     `json:"blocks,omitempty"` // of turns: the blocks that Pairs are medians of
	// WouldDecide says what would decide what is NotDecided: "about 3 minutes more would decide 5%".
	WouldDecide string `json:"would_decide,omitempty"`

	each time.Duration // how long a pair takes; 0: not known
}

// Datum returns what was measured for a variant in a round under a role (record.RoleMeasure, RoleFloor,
// RoleAblation); false when there is nothing valid.
type Datum func(role, variant string, round int) (value float64, ok bool)

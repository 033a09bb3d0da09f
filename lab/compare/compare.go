// Package compare says whether one variant of a target beats another: the ratio of paired data with its
// confidence interval, the order in which fresh measurements are taken so that drift cancels, the ladder
// of a sequence of variants, and the gate that a build passes or fails.
//
// Everything here is a pure function of what was recorded. What a datum is (a capacity, a p99) is the
// caller's: the package knows nothing of how one is found (capacity). It starts no goroutines.
package compare

// Schema names the JSON form of a Comparison.
const Schema = "dyno.comparison/1"

// Metrics that can be compared. More capacity is better; less p99 and CPU are better.
const (
	MetricCapacity = "capacity"
	MetricP99      = "p99"
	MetricCPU      = "cpu"
)

// Verdicts of a comparison. Faster always means that b is better than a.
const (
	Faster       = "faster"
	Slower       = "slower"
	NoDifference = "no difference shown"
	Invalid      = "invalid"
)

// MinPairs is the fewest pairs that give an interval.
const MinPairs = 6

// Comparison is what paired data showed.
type Comparison struct {
	Schema   string      `json:"schema"`
	Metric   string      `json:"metric"`
	A        string      `json:"a"`
	B        string      `json:"b"`
	Ratio    float64     `json:"ratio"`    // b over a, geometric mean
	Interval *[2]float64 `json:"interval"` // 95%; nil under MinPairs
	Pairs    int         `json:"pairs"`
	Floor    *[2]float64 `json:"floor"` // the baseline against itself, 95%; nil when not measured often enough
	Verdict  string      `json:"verdict"`
	Warnings []string    `json:"warnings"`
}

// Datum returns what was measured for a variant in a round under a role (record.RoleMeasure, RoleFloor,
// RoleLeave); false when there is nothing valid.
type Datum func(role, variant string, round int) (value float64, ok bool)

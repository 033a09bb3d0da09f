// Package compare decides whether one variant of a target is faster than another: by the ratio of
// paired samples with its confidence interval. It also orders fresh measurements so that drift
// cancels (Rotation), compares a sequence of variants (Ladder), and applies the conditions that a
// build passes or fails (Gate).
//
// Every function depends only on recorded data. The package does not measure: the caller passes the
// samples, which are capacities (package capacity), latencies or CPU times. It starts no
// goroutines.
package compare

import "time"

// Schema names the JSON form of a Comparison.
const Schema = "dyno.comparison/1"

// Metrics that can be compared. More capacity is better; less p99 and CPU are better.
const (
	MetricCapacity = "capacity"
	MetricWork     = "work" // peak work rate, from slices of a fixed number of requests
	MetricP99      = "p99"
	MetricCPU      = "cpu"
)

// Verdicts of a comparison, read from its interval alone. Faster means that b is better than a,
// whatever the metric. A significant difference within 2% is Faster or Slower, not Equal.
const (
	Faster     = "faster"
	Slower     = "slower"
	Changed    = "changed" // different, by a metric of which it is not known which direction is better
	Equal      = "equal within 2%"
	NotDecided = "not decided"
	Invalid    = "invalid" // there is nothing to compare
)

// MinSamples is the smallest number of samples that gives an interval.
const MinSamples = 4

// Comparison is the result of comparing paired samples.
type Comparison struct {
	Schema   string      `json:"schema"`
	Metric   string      `json:"metric"`
	A        string      `json:"a"`
	B        string      `json:"b"`
	Ratio    float64     `json:"ratio"`    // b over a, geometric mean
	Interval *[2]float64 `json:"interval"` // nil with fewer than 4 samples (MinSamples)
	Samples  int         `json:"pairs"`    // samples of either side; by turns: batches of blocks
	// the interval of the baseline against itself; nil with fewer than 4 samples (MinSamples)
	NoiseFloor *[2]float64 `json:"floor"`
	// Noise describes the noise floor by which Interval was widened; empty: it was not.
	Noise    string   `json:"noise,omitempty"`
	Verdict  string   `json:"verdict"`
	Warnings []string `json:"warnings"`

	// Confidence of Interval, 0.95 to 0.985. It rises with the number of interim analyses of a
	// comparison by turns, and is higher if several comparisons share the probability of a false alarm;
	// 0: 0.95.
	Confidence float64 `json:"confidence,omitempty"`
	Blocks     int     `json:"blocks,omitempty"` // by turns: the blocks whose medians are Pairs
	// TimeToDecide describes how much longer the experiment must run to decide a NotDecided
	// comparison: "about 3 minutes more would decide 5%".
	TimeToDecide string `json:"would_decide,omitempty"`

	each     time.Duration // duration of a sample; 0: unknown
	fromZero bool          // a is exactly 0, and b is more: there is no ratio
}

// Sample returns the value that was measured for a variant in a role (record.RoleMeasure,
// RoleControl, RoleAblation) and a round; false: no run of it is valid.
type Sample func(role, variant string, round int) (value float64, ok bool)

package format

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// Filled returns an empty list instead of nil.
func Filled[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Value is a figure that may be unknown (NaN): null in JSON, a dash in text.
type Value float64

// Unknown is the value of a figure that was not measured.
var Unknown = Value(math.NaN())

// Known reports whether v was measured.
func (v Value) Known() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// Or is v if it is known, and otherwise other.
func (v Value) Or(other Value) Value {
	if v.Known() {
		return v
	}
	return other
}

// OrZero is v, or 0 if v is unknown.
func (v Value) OrZero() float64 { return Finite(float64(v)) }

// MarshalJSON writes twelve significant digits (a count of bytes keeps all of its own), or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return []byte(Digits(float64(v), 12)), nil
}

// Measured is v, or unknown where a figure of 0 or below means no measurement.
func Measured(v float64) Value {
	if v > 0 {
		return Value(v)
	}
	return Unknown
}

// Interval is a 95% confidence interval; nil with too few runs.
type Interval struct{ Lo, Hi float64 }

// MarshalJSON writes [lo, hi].
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]Value{Value(i.Lo), Value(i.Hi)})
}

// Digits writes v with at most n significant digits and no exponent.
func Digits(v float64, n int) string {
	return strconv.FormatFloat(Significant(v, n), 'f', -1, 64)
}

// Significant rounds v to n significant digits; whole numbers below 2^53 stay exact if n permits.
func Significant(v float64, n int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// Median returns the middle of a sorted list; of an even number, the mean of the middle two.
func Median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianOf is unknown without values.
func MedianOf(values []float64) Value { return Value(Median(slices.Sorted(slices.Values(values)))) }

// Finite is v, or 0 if v is unknown.
func Finite(v float64) float64 {
	if !Value(v).Known() {
		return 0
	}
	return v
}

// Positive is v, or unknown where 0 means no measurement.
func Positive(v float64) float64 {
	if v <= 0 {
		return math.NaN()
	}
	return v
}

// Seconds is a duration that is a number of seconds in JSON.
type Seconds struct{ time.Duration }

// MarshalJSON writes the seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }

// IntervalOf is an interval of the analyses; nil stays nil.
func IntervalOf(p *[2]float64) *Interval {
	if p == nil {
		return nil
	}
	return &Interval{Lo: p[0], Hi: p[1]}
}

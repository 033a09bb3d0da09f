package report

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
)

// Value is a figure that may be unknown (NaN): null in JSON, a dash in text.
type Value float64

// Unknown is the value of a figure that was not measured.
var Unknown = Value(math.NaN())

// Known reports whether v was measured.
func (v Value) Known() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// or is v if it is known, and otherwise other.
func (v Value) or(other Value) Value {
	if v.Known() {
		return v
	}
	return other
}

// orZero is v, or 0 if v is unknown.
func (v Value) orZero() float64 { return finite(float64(v)) }

// MarshalJSON writes twelve significant digits (a count of bytes keeps all of its own), or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Known() {
		return []byte("null"), nil
	}
	return []byte(digits(float64(v), 12)), nil
}

// measured is v, or unknown where a figure of 0 or below means no measurement.
func measured(v float64) Value {
	if v > 0 {
		return Value(v)
	}
	return Unknown
}

// perRequest is v, or unknown where a negative figure means no agent.
func perRequest(v float64) Value {
	if v < 0 {
		return Unknown
	}
	return Value(v)
}

// Interval is a 95% confidence interval; nil with too few runs.
type Interval struct{ Lo, Hi float64 }

// MarshalJSON writes [lo, hi].
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]Value{Value(i.Lo), Value(i.Hi)})
}

// digits writes v with at most n significant digits and no exponent.
func digits(v float64, n int) string {
	return strconv.FormatFloat(significant(v, n), 'f', -1, 64)
}

// significant rounds v to n significant digits; whole numbers below 2^53 stay exact if n permits.
func significant(v float64, n int) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// median returns the middle of a sorted list; of an even number, the mean of the middle two.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// medianOf is unknown without values.
func medianOf(values []float64) Value { return Value(median(slices.Sorted(slices.Values(values)))) }

// finite is v, or 0 if v is unknown.
func finite(v float64) float64 {
	if !Value(v).Known() {
		return 0
	}
	return v
}

// positive is v, or unknown where 0 means no measurement.
func positive(v float64) float64 {
	if v <= 0 {
		return math.NaN()
	}
	return v
}

// Seconds is a duration that is a number of seconds in JSON.
type Seconds struct{ time.Duration }

// MarshalJSON writes the seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(s.Seconds()) }

func interval(p *[2]float64) *Interval {
	if p == nil {
		return nil
	}
	return &Interval{Lo: p[0], Hi: p[1]}
}

package main

import "math"

// publishedB is the b that the model was published with, together with a = 850/s.
const publishedB = 0.0032

// claimedInflection is the point of diminishing returns according to the model's author. No
// derivative of the model has a zero or an extremum there; see inflection.
func claimedInflection(l float64) float64 { return 2.4 * math.Pow(l, 0.42) }

// inflection is the point at which the curve a*log2(c)*exp(-b*L/c) stops bending upwards: below it
// each worker adds more than the one before, above it less. Ok is false when the curve bends
// downwards from one worker on. It is not a knee: above it the throughput still rises without
// bound.
//
// With u = b*L the second derivative has the sign of g(c) = u^2*ln(c) + 2*u*c*(1-ln(c)) - c^2, for
// any a. g(1) is 2u-1, and g is below 0 for large c; so there is an inflection above 1 if u > 1/2,
// and none otherwise, since g falls from there on.
func inflection(b, l float64) (c float64, ok bool) {
	u := b * l
	if !(u > 0.5) || math.IsInf(u, 1) {
		return 0, false
	}
	g := func(c float64) float64 { return u*u*math.Log(c) + 2*u*c*(1-math.Log(c)) - c*c }
	lo, hi := 1.0, 2.0
	for g(hi) > 0 {
		lo, hi = hi, 2*hi
	}
	for range 100 { // halvings: more than a float64 resolves
		if middle := (lo + hi) / 2; g(middle) > 0 {
			lo = middle
		} else {
			hi = middle
		}
	}
	return (lo + hi) / 2, true
}

package main

import (
	"fmt"
	"math"
)

// Prediction is the steady state of a bounded queue. Times are of admitted customers.
type Prediction struct {
	Blocking       float64 // share of arrivals that find the queue full
	ThroughputPerS float64
	Utilisation    float64 // of the servers
	MeanWaitMs     float64 // before service
	MeanMs         float64 // wait and service
	P99Ms          float64 // wait and service
}

// Limits of the computation; above them the functions return an error.
const (
	// MaxRoom is the largest queue: 8 MB during the computation.
	MaxRoom = 1_000_000
	// maxLoad is the highest offered load, in erlangs, and the reciprocal of the lowest: above it
	// the probabilities of the states exceed the range of a float64.
	maxLoad = 1e9
)

// MMcN is the queue with c servers of rate mu each and capacity n, those in service included. Rates
// are in 1/s and above 0, at most 1e9 apart; 1 <= c <= n <= MaxRoom.
func MMcN(lambda, mu float64, c, n int) (Prediction, error) {
	if a := lambda / mu; !(lambda > 0 && mu > 0 && a <= maxLoad && a >= 1/maxLoad) {
		return Prediction{}, fmt.Errorf("arrival rate %g and service rate %g: both must be above 0, and at most %g times apart", lambda, mu, maxLoad)
	}
	if c < 1 || n < c || n > MaxRoom {
		return Prediction{}, fmt.Errorf("%d servers with a capacity of %d: required is 1 <= servers <= capacity <= %d", c, n, MaxRoom)
	}
	p := states(lambda/mu, c, n)
	var queued, inside float64
	for k, share := range p {
		inside += float64(k) * share
		queued += float64(max(k-c, 0)) * share
	}
	out := Prediction{Blocking: p[n]}
	admitted := admission(p)
	out.ThroughputPerS = lambda * admitted
	out.Utilisation = out.ThroughputPerS / (float64(c) * mu)
	out.MeanWaitMs = queued / out.ThroughputPerS * 1e3 // Little's law
	out.MeanMs = inside / out.ThroughputPerS * 1e3
	out.P99Ms = quantile(0.99, p, mu, c) * 1e3
	return out, nil
}

// admission is the share of arrivals that are admitted. It is summed directly: 1 - blocking would
// lose all digits when almost every arrival is dropped.
func admission(p []float64) float64 {
	sum := 0.0
	for _, share := range p[:len(p)-1] {
		sum += share
	}
	return sum
}

// states returns the probabilities of 0 to n customers inside, at an offered load of a erlangs,
// from the recurrence p[k] = p[k-1] * a/min(k,c). It works with logarithms, since a^n overflows.
func states(a float64, c, n int) []float64 {
	p := make([]float64, n+1)
	highest := 0.0
	for k := 1; k <= n; k++ {
		p[k] = p[k-1] + math.Log(a/float64(min(k, c)))
		highest = max(highest, p[k])
	}
	sum := 0.0
	for k := range p {
		p[k] = math.Exp(p[k] - highest)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

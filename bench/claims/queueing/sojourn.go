package main

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// quantile is the q-quantile of the time that an admitted customer spends inside, in s, found by
// bisection of its distribution.
func quantile(q float64, p []float64, mu float64, c int) float64 {
	found := arrivals(p, c)
	lo, hi := 0.0, 1/mu
	for beyond(hi, found, mu, c) > 1-q {
		lo, hi = hi, hi*2
	}
	for range 60 { // to the last digit of a float64
		middle := (lo + hi) / 2
		if beyond(middle, found, mu, c) > 1-q {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi
}

// arrival is what an admitted customer may find: how many departures precede its service (the mean
// of the states it stands for), and the probability of that.
type arrival struct{ before, share float64 }

// finest is the number of states that are kept separate. Larger states are merged with as many
// neighbours as keep their waits within 1/finest of each other: a million states become some
// thousand arrivals.
const finest = 1000

// arrivals reads what admitted customers find from the states, first those served immediately.
func arrivals(p []float64, c int) []arrival {
	admitted := admission(p)
	waiting := p[:len(p)-1]
	var out []arrival
	atOnce := arrival{}
	for _, share := range waiting[:c] {
		atOnce.share += share / admitted
	}
	out = append(out, atOnce)
	waiting = waiting[c:]
	for k := 0; k < len(waiting); {
		a := arrival{}
		for end := min(k+1+k/finest, len(waiting)); k < end; k++ {
			a.share += waiting[k] / admitted
			a.before += waiting[k] / admitted * float64(k+1)
		}
		if a.share > 0 {
			a.before /= a.share
			out = append(out, a)
		}
	}
	return out
}

// negligible is the probability below which an arrival is skipped.
const negligible = 1e-12

// beyond is the probability that an admitted customer spends longer than t inside. One that finds a
// free server is served immediately. The others wait for the departures ahead of them, each
// exponential with rate c*mu, and are then served.
func beyond(t float64, found []arrival, mu float64, c int) float64 {
	sum := found[0].share * math.Exp(-mu*t)
	for _, a := range found[1:] {
		if a.share > negligible {
			sum += a.share * waitAndService(t, a.before, float64(c)*mu, mu, c)
		}
	}
	return sum
}

// waitAndService is the probability that m exponential departures at the given rate, followed by
// one service at rate mu, take longer than t.
func waitAndService(t, m, rate, mu float64, c int) float64 {
	if c == 1 {
		return mathext.GammaIncRegComp(m+1, mu*t) // m+1 identical phases
	}
	// P(W+S > t) = P(W > t) + the integral of P(S > t-w) over the density of W
	//            = Q(m, rate*t) + e^(-mu*t) * (rate/(rate-mu))^m * P(m, (rate-mu)*t)
	wait := mathext.GammaIncRegComp(m, rate*t)
	within := mathext.GammaIncReg(m, (rate-mu)*t)
	if within == 0 {
		return wait
	}
	return wait + math.Exp(m*math.Log(rate/(rate-mu))-mu*t+math.Log(within))
}

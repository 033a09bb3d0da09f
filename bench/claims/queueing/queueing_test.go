package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Max(math.Abs(want), 1e-12) {
		t.Errorf("%s = %g, want %g", what, got, want)
	}
}

func mmcn(t fatal, lambda, mu float64, c, n int) Prediction {
	t.Helper()
	p, err := MMcN(lambda, mu, c, n)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func mm1n(t fatal, lambda, mu float64, n int) Prediction { return mmcn(t, lambda, mu, 1, n) }

// fatal is the common part of testing.T and rapid.T.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// The closed forms of M/M/1/N: blocking (1-r)r^n/(1-r^(n+1)), and 1/(n+1) at r = 1.
func TestMM1NAgreesWithClosedForms(t *testing.T) {
	for _, c := range []struct {
		lambda, mu float64
		n          int
	}{{500, 1000, 1}, {800, 1000, 17}, {1000, 1000, 9}, {2000, 1000, 257}, {50000, 1000, 4097}} {
		p := mm1n(t, c.lambda, c.mu, c.n)
		r, n := c.lambda/c.mu, float64(c.n)
		blocking := 1 / (n + 1)
		if r != 1 {
			// divided by r^(n+1), so that it does not overflow
			blocking = (1 - 1/r) / (1 - math.Pow(r, -(n+1)))
			if r < 1 {
				blocking = (1 - r) * math.Pow(r, n) / (1 - math.Pow(r, n+1))
			}
		}
		near(t, "blocking", p.Blocking, blocking, 1e-9)
		near(t, "throughput", p.ThroughputPerS, c.lambda*(1-blocking), 1e-9)
		near(t, "mean", p.MeanMs, p.MeanWaitMs+1e3/c.mu, 1e-9)
	}
}

// With a large capacity the sojourn time of M/M/1 is exponential with rate mu-lambda, and Erlang's
// C formula gives the mean wait of M/M/c.
func TestUnboundedLimits(t *testing.T) {
	p := mm1n(t, 900, 1000, 5000)
	near(t, "p99", p.P99Ms, math.Log(100)/100*1e3, 1e-6)
	near(t, "mean", p.MeanMs, 10, 1e-6)

	const lambda, mu, c = 7.0, 1.0, 8
	p = mmcn(t, lambda, mu, c, 5000)
	sum, term := 0.0, 1.0
	for k := range c {
		sum += term
		term *= lambda / mu / float64(k+1)
	}
	tail := term * c / (c - lambda/mu)
	near(t, "mean wait", p.MeanWaitMs, tail/(sum+tail)/(c*mu-lambda)*1e3, 1e-6)
	near(t, "utilisation", p.Utilisation, lambda/mu/c, 1e-9)
}

// A simulation, which uses none of the formulas, gives the same figures.
func TestAgreesWithSimulation(t *testing.T) {
	for _, q := range []struct {
		lambda, mu float64
		c, n       int
	}{{950, 1000, 1, 33}, {1200, 1000, 1, 9}, {2700, 1000, 3, 20}, {4000, 1000, 3, 64}} {
		p := mmcn(t, q.lambda, q.mu, q.c, q.n)
		blocked, p99 := simulate(q.lambda, q.mu, q.c, q.n, 400_000)
		if math.Abs(p.Blocking-blocked) > 0.004 {
			t.Errorf("%+v: blocking %g, simulated %g", q, p.Blocking, blocked)
		}
		near(t, "p99 ms", p.P99Ms, p99*1e3, 0.03)
	}
}

func simulate(lambda, mu float64, c, n, arrivals int) (blocked, p99 float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var at float64
	var inside []float64 // departure times
	free := make([]float64, c)
	var sojourns []float64
	lost := 0
	for range arrivals {
		at += rng.ExpFloat64() / lambda
		inside = slices.DeleteFunc(inside, func(end float64) bool { return end <= at })
		if len(inside) >= n {
			lost++
			continue
		}
		server := 0
		for i := range free {
			if free[i] < free[server] {
				server = i
			}
		}
		free[server] = max(at, free[server]) + rng.ExpFloat64()/mu
		inside = append(inside, free[server])
		sojourns = append(sojourns, free[server]-at)
	}
	slices.Sort(sojourns)
	return float64(lost) / float64(arrivals), sojourns[len(sojourns)*99/100]
}

// Merging states in a long queue must not change the result.
func TestLongQueues(t *testing.T) {
	p := mm1n(t, 1000, 1000, 100_001) // at r = 1 every length is equally likely: the wait is uniform
	near(t, "p99", p.P99Ms, 0.99*100_000, 0.002)
	p = mm1n(t, 2000, 1000, 100_001) // always full: the wait is that of a full queue
	near(t, "p99", p.P99Ms, 100_000+2.33*math.Sqrt(100_000), 0.002)
}

func TestNoSuchQueue(t *testing.T) {
	for _, q := range []struct {
		lambda, mu float64
		c, n       int
	}{{0, 1, 1, 1}, {1, 0, 1, 1}, {math.NaN(), 1, 1, 1}, {math.Inf(1), 1, 1, 1}, {1, 1, 1, 0}, {1, 1, 2, 1},
		{1, 1, 0, 1}, {1, 1, 1, MaxRoom + 1}, {1e30, 1e-30, 1, 3}} {
		if p, err := MMcN(q.lambda, q.mu, q.c, q.n); err == nil {
			t.Errorf("%+v: got %+v", q, p)
		}
	}
}

func TestPredictionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lambda := rapid.Float64Range(1, 1e5).Draw(t, "lambda")
		mu := rapid.Float64Range(1, 1e5).Draw(t, "mu")
		c := rapid.IntRange(1, 16).Draw(t, "c")
		n := rapid.IntRange(c, 300).Draw(t, "n")
		p, roomier := mmcn(t, lambda, mu, c, n), mmcn(t, lambda, mu, c, n+1)
		switch {
		case !(p.Blocking >= 0 && p.Blocking <= 1):
			t.Fatalf("blocking %g", p.Blocking)
		case p.ThroughputPerS > math.Min(lambda, float64(c)*mu)*(1+1e-9):
			t.Fatalf("throughput %g of %g offered and %g possible", p.ThroughputPerS, lambda, float64(c)*mu)
		case roomier.Blocking > p.Blocking*(1+1e-9):
			t.Fatalf("more room blocks more: %g after %g", roomier.Blocking, p.Blocking)
		case roomier.P99Ms < p.P99Ms*(1-1e-9):
			t.Fatalf("more room is faster: %g after %g", roomier.P99Ms, p.P99Ms)
		case p.P99Ms < p.MeanMs || p.P99Ms < math.Log(100)/mu*1e3*(1-1e-6):
			t.Fatalf("p99 %g below the mean %g or the service's own", p.P99Ms, p.MeanMs)
		}
	})
}

// A source has N/(2(mu-lambda)) as the delay in a queue with room for N. In the steady state the wait
// does not grow with the room once that is large enough, and is a tenth of the formula at most.
func TestThePublishedDelay(t *testing.T) {
	const mu = 1000.0
	for _, lambda := range []float64{100, 500, 900} {
		for _, n := range []int{256, 1024, 4096} {
			wait := mm1n(t, lambda, mu, n).MeanWaitMs
			near(t, "wait", wait, lambda/mu/(mu-lambda)*1e3, 1e-6)
			if published := float64(n) / (2 * (mu - lambda)) * 1e3; wait > published/10 {
				t.Errorf("%g/s, room for %d: a wait of %g ms, by the formula %g ms", lambda, n, wait, published)
			}
		}
	}
}

package scaling

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/optimize"
)

// uslFormula as printed.
const uslFormula = "X(N) = lambda*N / (1 + sigma*(N-1) + kappa*N*(N-1))"

func usl(lambda, sigma, kappa, n float64) float64 {
	return lambda * n / (1 + sigma*(n-1) + kappa*n*(n-1))
}

// negligible is the coherence share below which a curve counts as never falling: its peak would be
// above a concurrency of ten thousand.
const negligible = 1e-8

// USL fits the Universal Scalability Law by least squares of the relative residuals, since
// throughput scatters in proportion to its value. Shares stay within 0 and 1: without a point at
// concurrency one, an unbounded fit would diverge. Needs three different concurrencies; four show
// how well it fits.
func USL(points []Point) (Curve, error) {
	if err := check(points, 3); err != nil {
		return Curve{}, fmt.Errorf("universal scalability law: %w", err)
	}
	c := Curve{Model: ModelUSL, Formula: uslFormula, Warnings: []string{}}
	// The logarithm of lambda and the angles of the shares are unconstrained; the shares then stay
	// within 0 and 1 without a constrained solver.
	share := func(angle float64) float64 { return math.Pow(math.Sin(angle), 2) }
	cost := func(v []float64) float64 {
		sum := 0.0
		for _, p := range points {
			r := usl(math.Exp(v[0]), share(v[1]), share(v[2]), p.N)/p.X - 1
			sum += r * r
		}
		return sum
	}
	best := math.Inf(1)
	for _, start := range starts(points) {
		// Nelder-Mead ends within some hundred evaluations; the result of an early end is still a
		// fit.
		res, err := optimize.Minimize(optimize.Problem{Func: cost}, start, &optimize.Settings{FuncEvaluations: 5000,
			Converger: &optimize.FunctionConverge{Absolute: 1e-14, Iterations: 200}}, &optimize.NelderMead{})
		if res == nil || math.IsNaN(res.F) || err != nil && math.IsInf(res.F, 0) || res.F >= best {
			continue
		}
		best = res.F
		c.Lambda, c.Sigma, c.Kappa = math.Exp(res.X[0]), share(res.X[1]), share(res.X[2])
	}
	if math.IsInf(best, 1) {
		return Curve{}, fmt.Errorf("universal scalability law: no parameters fit the points")
	}
	c.peak(points)
	c.measure(points)
	return c, nil
}

// starts are the starting points of the search: little and much contention.
func starts(points []Point) [][]float64 {
	one := 0.0 // throughput at concurrency one, from the lowest point
	least := math.Inf(1)
	for _, p := range points {
		if p.N < least {
			least, one = p.N, p.X/p.N
		}
	}
	l := math.Log(one)
	return [][]float64{{l, 0.05, 0.01}, {l, 0.5, 0.05}, {l + 0.5, 0.9, 0.3}}
}

// peak sets the concurrency at which the law predicts the highest throughput.
func (c *Curve) peak(points []Point) {
	if c.Kappa < negligible {
		c.warn("no coherence cost can be seen: throughput levels off but does not fall")
		return
	}
	n := max(math.Sqrt((1-c.Sigma)/c.Kappa), 1) // the lowest possible concurrency is one
	c.PeakN, c.PeakX = &n, c.At(n)
	highest := 0.0
	for _, p := range points {
		highest = max(highest, p.N)
	}
	if n > highest {
		c.warn("the predicted peak at %.3g is above the highest concurrency measured (%g)", n, highest)
	}
}

package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// point is a measured throughput.
type point struct {
	n, l float64 // concurrency, above 1; load per job
	x    float64 // throughput, 1/s
}

// curve is a*log2(c)*exp(-b*L/c). Its derivative, a*exp(-bL/c)*(1/(c*ln 2) + log2(c)*b*L/c^2), is
// above 0 for every c above 1 if a > 0 and b >= 0: it has no maximum, so it cannot show a knee.
type curve struct{ a, b float64 }

func (c curve) at(n, l float64) float64 { return c.a * math.Log2(n) * math.Exp(-c.b*l/n) }

// fit fits the curve. Its logarithm is a straight line: ln(X/log2(c)) = ln(a) - b*(L/c).
func fit(points []point) (curve, error) {
	different := map[float64]bool{}
	var x, y []float64
	for _, p := range points {
		if !(p.n > 1 && p.l > 0 && p.x > 0) {
			return curve{}, fmt.Errorf("concurrency %g, load %g, %g/s: concurrency must be above 1, load and throughput above 0", p.n, p.l, p.x)
		}
		different[p.l/p.n] = true
		x, y = append(x, p.l/p.n), append(y, math.Log(p.x/math.Log2(p.n)))
	}
	if len(different) < 3 {
		return curve{}, fmt.Errorf("%d different loads per unit of concurrency make no curve: measure at least 3", len(different))
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	return curve{math.Exp(intercept), -slope}, nil
}

// off is the root mean squared relative error of the curve at the points.
func (c curve) off(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		r := c.at(p.n, p.l)/p.x - 1
		sum += r * r
	}
	return math.Sqrt(sum / float64(len(points)))
}

package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// logFormula as printed.
const logFormula = "X(c) = a*log2(c)*exp(-b*L/c)"

// noKnee is the warning of every such fit: dX/dc = a*exp(-bL/c)*(1/(c*ln 2) + log2(c)*b*L/c^2) is
// above 0 for every c above 1 if a > 0 and b >= 0.
const noKnee = "this model's derivative is positive everywhere: it has no maximum, so it cannot show a knee"

// Log fits a*log2(c)*exp(-b*L/c), for sweeps in which c workers share a job of load L. Its
// logarithm is a straight line: ln(X/log2(c)) = ln(a) - b*(L/c). Needs three different L/c, and c
// above 1.
func Log(points []Point) (Curve, error) {
	const aboveOne = 1 + 1e-9
	if err := check(points, aboveOne, 3); err != nil {
		return Curve{}, fmt.Errorf("logarithmic model: %w", err)
	}
	var x, y []float64
	for _, p := range points {
		x = append(x, p.load()/p.N)
		y = append(y, math.Log(p.X/math.Log2(p.N)))
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	c := Curve{Model: ModelLog, Formula: logFormula, A: math.Exp(intercept), B: -slope, Warnings: []string{noKnee}}
	if c.B < 0 {
		// A negative b bends the curve the other way; then noKnee does not hold.
		c.Warnings = []string{"b came out below 0: throughput grows more slowly than log2(c), and the model does not apply"}
	}
	c.measure(points)
	return c, nil
}

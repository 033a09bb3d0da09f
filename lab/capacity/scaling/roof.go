package scaling

import (
	"fmt"
	"math"
	"slices"
)

// roofFormula as printed.
const roofFormula = "X(c) = min(k*c, roof)"

// Roof fits min(k*c, roof): each of c workers does k units a second until a shared resource is
// exhausted, such as a server's budget, a bandwidth or the CPU. It minimises the squared relative
// residuals exactly: the points below the corner determine k and those above it the roof, and every
// position of the corner among the points is tried. Needs three different concurrencies.
func Roof(points []Point) (Curve, error) {
	if err := check(points, 3); err != nil {
		return Curve{}, fmt.Errorf("roof: %w", err)
	}
	c := Curve{Model: ModelRoof, Formula: roofFormula, Warnings: []string{}}
	rising := slices.Clone(points)
	slices.SortStableFunc(rising, func(a, b Point) int { return compareN(a, b) })
	best := math.Inf(1)
	for split := range len(rising) + 1 {
		k, roof := slopeOf(rising[:split]), levelOf(rising[split:])
		if split == 0 {
			k = roof / rising[0].N // the corner is at the first point or before it
		}
		if split == len(rising) {
			roof = 0 // none was seen
		}
		if cost := roofCost(rising, k, roof); cost < best {
			best, c.K, c.Roof = cost, k, roof
		}
	}
	corner := c.Roof / c.K
	switch last := rising[len(rising)-1].N; {
	case c.Roof == 0 || corner >= last:
		c.Roof = 0
		c.warn("no roof was seen: throughput rose in proportion up to concurrency %g, the highest measured", last)
	case corner <= rising[0].N*(1+1e-9):
		c.warn("the roof was reached at concurrency %g, the lowest measured: the throughput below it is unknown", rising[0].N)
		c.PeakN, c.PeakX = &corner, c.Roof
	default:
		c.PeakN, c.PeakX = &corner, c.Roof
	}
	c.measure(points)
	return c, nil
}

func compareN(a, b Point) int {
	switch {
	case a.N < b.N:
		return -1
	case a.N > b.N:
		return 1
	}
	return 0
}

// slopeOf is the k of X = k*N with the smallest squared relative residuals.
func slopeOf(points []Point) float64 {
	var over, under float64
	for _, p := range points {
		over += p.N / p.X
		under += p.N / p.X * p.N / p.X
	}
	return over / under
}

// levelOf is the roof of X = roof with the smallest squared relative residuals.
func levelOf(points []Point) float64 {
	var over, under float64
	for _, p := range points {
		over += 1 / p.X
		under += 1 / p.X / p.X
	}
	return over / under
}

// under is the throughput at concurrency n under a roof; a roof of 0 means none.
func under(k, roof, n float64) float64 {
	if roof == 0 {
		return k * n
	}
	return min(k*n, roof)
}

func roofCost(points []Point, k, roof float64) (sum float64) {
	for _, p := range points {
		r := under(k, roof, p.N)/p.X - 1
		sum += r * r
	}
	return sum
}

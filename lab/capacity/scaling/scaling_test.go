package scaling

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func sweep(lambda, sigma, kappa, noise float64, rng *rand.Rand, ns ...float64) []Point {
	var out []Point
	for _, n := range ns {
		out = append(out, Point{N: n, X: usl(lambda, sigma, kappa, n) * math.Exp(noise*rng.NormFloat64())})
	}
	return out
}

var doublings = []float64{1, 2, 4, 8, 16, 32, 64}

func TestUSLRecoversItsParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lambda := rapid.Float64Range(10, 1e5).Draw(t, "lambda")
		sigma := rapid.Float64Range(0, 0.6).Draw(t, "sigma")
		kappa := rapid.Float64Range(1e-4, 0.05).Draw(t, "kappa")
		points := sweep(lambda, sigma, kappa, 0, rand.New(rand.NewPCG(1, 1)), doublings...)
		c, err := USL(points)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Lambda/lambda-1) > 0.01 || math.Abs(c.Sigma-sigma) > 0.01 || math.Abs(c.Kappa-kappa) > 0.001 {
			t.Fatalf("got %g %g %g, want %g %g %g", c.Lambda, c.Sigma, c.Kappa, lambda, sigma, kappa)
		}
		peak := math.Sqrt((1 - sigma) / kappa)
		if c.PeakN == nil || math.Abs(*c.PeakN/peak-1) > 0.05 {
			t.Fatalf("peak %v, want %g", c.PeakN, peak)
		}
	})
}

func TestUSLUnderNoise(t *testing.T) {
	points := sweep(1000, 0.08, 0.002, 0.03, rand.New(rand.NewPCG(1, 1)), doublings...)
	c, err := USL(points)
	if err != nil {
		t.Fatal(err)
	}
	if c.PeakN == nil || *c.PeakN < 15 || *c.PeakN > 31 { // the true value is 21.4
		t.Errorf("peak %v", *c.PeakN)
	}
	for i, r := range c.Residuals {
		if math.Abs(r) > 0.1*points[i].X {
			t.Errorf("residual %d is %g of %g", i, r, points[i].X)
		}
	}
	if c.StdError == 0 || len(c.Warnings) != 0 {
		t.Errorf("standard error %g, warnings %v", c.StdError, c.Warnings)
	}
}

// Throughput that falls from the first point on, without a point at concurrency one: shares stay
// between 0 and 1.
func TestUSLOfWhatOnlyFalls(t *testing.T) {
	c, err := USL([]Point{{N: 2, X: 14.5}, {N: 4, X: 5}, {N: 8, X: 2}, {N: 16, X: 3.5}, {N: 32, X: 2.5}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Lambda > 1000 || c.PeakN == nil || *c.PeakN < 1 || c.PeakX > 1000 {
		t.Errorf("got %+v", c)
	}
}

func TestUSLSaysWhatItCannotSee(t *testing.T) {
	amdahl := sweep(1000, 0.1, 0, 0, seeded(), doublings...)
	if c, err := USL(amdahl); err != nil || c.PeakN != nil || !warns(c, "does not fall") {
		t.Errorf("no coherence cost: %+v, %v", c, err)
	}
	rising := sweep(1000, 0.02, 0.0005, 0, seeded(), 1, 2, 4, 8)
	if c, err := USL(rising); err != nil || c.PeakN == nil || !warns(c, "above the highest") {
		t.Errorf("extrapolated: %+v, %v", c, err)
	}
	if c, err := USL(rising[:3]); err != nil || !warns(c, "3 points for 3 parameters") {
		t.Errorf("three points: %+v, %v", c, err)
	}
}

func TestPointsThatCannotBeFitted(t *testing.T) {
	good := []Point{{N: 2, X: 1}, {N: 4, X: 2}, {N: 8, X: 3}}
	for name, bad := range map[string]Point{"zero": {N: 2}, "negative": {N: 3, X: -1}, "NaN": {N: math.NaN(), X: 1},
		"below one": {N: 0.5, X: 1}, "infinite": {N: 2, X: math.Inf(1)}} {
		points := append([]Point{bad}, good...)
		if _, err := USL(points); err == nil {
			t.Errorf("USL: %s was fitted", name)
		}
	}
	if _, err := USL(good[:2]); err == nil {
		t.Error("two points were fitted")
	}
}

func warns(c Curve, part string) bool {
	for _, w := range c.Warnings {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

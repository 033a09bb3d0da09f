package scaling

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRoofRecoversItsCorner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Float64Range(1, 1000).Draw(t, "k")
		corner := rapid.Float64Range(2, 32).Draw(t, "corner")
		var points []Point
		for _, n := range doublings {
			points = append(points, Point{N: n, X: min(k*n, k*corner)})
		}
		c, err := Roof(points)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.K/k-1) > 1e-9 || math.Abs(c.Roof/(k*corner)-1) > 1e-9 || c.PeakN == nil || math.Abs(*c.PeakN/corner-1) > 1e-9 {
			t.Fatalf("got %g, %g; want %g, %g", c.K, c.Roof, k, k*corner)
		}
		if len(c.Warnings) > 0 {
			t.Fatalf("warnings %v", c.Warnings)
		}
	})
}

func TestRoofSaysWhatItCannotSee(t *testing.T) {
	var rising, flat []Point
	for _, n := range doublings {
		rising, flat = append(rising, Point{N: n, X: 7 * n}), append(flat, Point{N: n, X: 300})
	}
	if c, err := Roof(rising); err != nil || c.PeakN != nil || !warns(c, "no roof was seen") || math.Abs(c.K-7) > 1e-9 {
		t.Errorf("rising: %+v, %v", c, err)
	}
	if c, err := Roof(flat); err != nil || !warns(c, "the lowest measured") || math.Abs(c.Roof-300) > 1e-9 {
		t.Errorf("flat: %+v, %v", c, err)
	}
	if _, err := Roof(rising[:2]); err == nil {
		t.Error("two points were fitted")
	}
}

// The model that made the points is found, under 2% of noise.
func TestRankNamesTheModelThatMadeThePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	noise := func(x float64) float64 { return x * math.Exp(0.02*rng.NormFloat64()) }
	makers := map[string]func(n float64) float64{
		ModelRoof: func(n float64) float64 { return min(25*n, 250) },
		ModelUSL:  func(n float64) float64 { return usl(100, 0.05, 0.004, n) },
	}
	for model, make := range makers {
		var points []Point
		for _, n := range []float64{2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128} {
			points = append(points, Point{N: n, X: noise(make(n))})
		}
		ranked, words := Rank(points)
		if len(ranked) < 2 || ranked[0].Model != model || ranked[0].LeaveOneOut > 0.05 {
			t.Errorf("%s: ranked %v: %s", model, ranked[0].Model, words)
		}
		if !strings.HasPrefix(words, ranked[0].Name()+" explains the points best") {
			t.Errorf("%s: words %q", model, words)
		}
		for i, r := range ranked[1:] { // AICc agrees where the difference is clear
			if r.AICc == nil || *r.AICc < *ranked[0].AICc && ranked[i+1].LeaveOneOut > 2*ranked[0].LeaveOneOut {
				t.Errorf("%s: AICc of %s is %v, of the best %v", model, r.Model, r.AICc, *ranked[0].AICc)
			}
		}
	}
}

func TestRankSaysWhenItCannotTell(t *testing.T) {
	if ranked, words := Rank([]Point{{N: 1, X: 1}, {N: 2, X: 2}, {N: 4, X: 3}}); len(ranked) != 0 || !strings.Contains(words, "comparing models takes 5") {
		t.Errorf("three points: %v, %q", ranked, words)
	}
	var straight []Point // both models can be a straight line
	for _, n := range doublings {
		straight = append(straight, Point{N: n, X: 5 * n})
	}
	if _, words := Rank(straight); !strings.Contains(words, "too close to prefer") {
		t.Errorf("a straight line: %q", words)
	}
}

func TestCurveText(t *testing.T) {
	corner := 10.0
	for want, c := range map[string]Curve{
		"up to a roof of 250/s at concurrency 10": {Model: ModelRoof, K: 25, Roof: 250, PeakN: &corner},
		"no roof was seen":                        {Model: ModelRoof, K: 25, Roof: 250},
		"5% of the work is serial":                {Model: ModelUSL, Lambda: 100, Sigma: 0.05},
		"100% of the work is serial":              {Model: ModelUSL, Lambda: 100, Sigma: 0.999},
	} {
		if words := c.Text(); !strings.Contains(words, want) {
			t.Errorf("%q, want %q in it", words, want)
		}
	}
}

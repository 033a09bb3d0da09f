// Package scaling fits scaling curves to measured throughputs: the Universal Scalability Law for
// sweeps of concurrency (N. Gunther, Guerrilla Capacity Planning, 2007), and a linear rise up to a
// roof for a shared resource. A fit describes the points it was given and warns about predictions
// outside their range; it is not for extrapolation. It starts no goroutines.
package scaling

import (
	"fmt"
	"math"
)

// Models.
const (
	ModelUSL  = "usl"
	ModelRoof = "roof"
)

// Point is a measured throughput.
type Point struct {
	N float64 // concurrency: clients, workers or cores; at least 1
	X float64 // throughput, 1/s
}

// Curve is a fitted model.
type Curve struct {
	Model   string  `json:"model"` // usl | roof
	Formula string  `json:"formula"`
	Lambda  float64 `json:"lambda,omitempty"` // usl: throughput at concurrency one, 1/s
	Sigma   float64 `json:"sigma,omitempty"`  // usl: serial share
	Kappa   float64 `json:"kappa,omitempty"`  // usl: coherence share
	K       float64 `json:"k,omitempty"`      // roof: throughput that each unit of concurrency adds, 1/s
	Roof    float64 `json:"roof,omitempty"`   // roof: 1/s; 0: none was seen
	// concurrency of the highest throughput; nil: the curve rises without bound
	PeakN     *float64  `json:"peak_n"`
	PeakX     float64   `json:"peak_per_s,omitempty"` // throughput there, 1/s
	Residuals []float64 `json:"residuals"`            // measured - fitted, 1/s, in the points' order
	StdError  float64   `json:"std_error"`            // residual standard error, 1/s
	Warnings  []string  `json:"warnings"`
}

// At returns the fitted throughput at concurrency n, in 1/s.
func (c Curve) At(n float64) float64 {
	if c.Model == ModelRoof {
		return under(c.K, c.Roof, n)
	}
	return usl(c.Lambda, c.Sigma, c.Kappa, n)
}

// parameters is the number of free parameters of the model.
func (c Curve) parameters() int {
	if c.Model == ModelUSL {
		return 3
	}
	return 2
}

// measure sets the residuals and their standard error.
func (c *Curve) measure(points []Point) {
	var squares float64
	for _, p := range points {
		r := p.X - c.At(p.N)
		c.Residuals = append(c.Residuals, r)
		squares += r * r
	}
	if free := len(points) - c.parameters(); free > 0 {
		c.StdError = math.Sqrt(squares / float64(free))
	} else {
		c.warn("%d points for %d parameters: a curve goes through any such points", len(points), c.parameters())
	}
}

func (c *Curve) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// check rejects points that no curve fits.
func check(points []Point, distinct int) error {
	seen := map[float64]bool{}
	for i, p := range points {
		if !(p.N >= 1 && p.X > 0) || math.IsInf(p.N, 1) || math.IsInf(p.X, 1) {
			return fmt.Errorf("point %d (concurrency %g, %g/s) cannot be fitted: concurrency must be at least 1, throughput above 0", i+1, p.N, p.X)
		}
		seen[p.N] = true
	}
	if len(seen) < distinct {
		return fmt.Errorf("%d different points do not make a curve: measure at least %d", len(seen), distinct)
	}
	return nil
}

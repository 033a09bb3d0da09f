package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Ranked is a curve with its model's prediction error.
type Ranked struct {
	Curve
	// LeaveOneOut is the root mean squared relative error of predicting each point from the curve
	// through the others: 0.05 is 5%. Unlike a residual it does not fall just because a model has
	// more parameters.
	LeaveOneOut float64 `json:"leave_one_out"`
	// AICc is Akaike's criterion of the relative residuals, corrected for few points; lower is
	// better, and differences below 2 are not significant. Nil: there are too few points for it.
	AICc *float64 `json:"aicc"`
}

// leastPoints is how many points a comparison of models needs: without one of them, there is still
// one more than the most parameters.
const leastPoints = 5

// Rank fits all models to the points and orders the curves by LeaveOneOut, the best first. A model
// that does not fit is left out. text names the best model and its lead, or states that the models
// cannot be separated.
func Rank(points []Point) (ranked []Ranked, text string) {
	models := []func([]Point) (Curve, error){Roof, USL}
	for _, fit := range models {
		c, err := fit(points)
		if err != nil {
			continue
		}
		r := Ranked{Curve: c, LeaveOneOut: leaveOneOut(points, fit), AICc: aicc(points, c)}
		if len(points) >= leastPoints && !math.IsNaN(r.LeaveOneOut) {
			ranked = append(ranked, r)
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(a.LeaveOneOut, b.LeaveOneOut) })
	return ranked, rankText(ranked, different(points))
}

// different is the number of distinct concurrencies among the points.
func different(points []Point) int {
	seen := map[float64]bool{}
	for _, p := range points {
		seen[p.N] = true
	}
	return len(seen)
}

// leaveOneOut predicts each point from the others.
func leaveOneOut(points []Point, fit func([]Point) (Curve, error)) float64 {
	sum := 0.0
	for i, p := range points {
		c, err := fit(slices.Delete(slices.Clone(points), i, i+1))
		if err != nil {
			return math.NaN()
		}
		r := c.At(p.N)/p.X - 1
		sum += r * r
	}
	return math.Sqrt(sum / float64(len(points)))
}

// leastError keeps a curve through every point from counting as perfect: no throughput is known
// better than to a tenth of a percent.
const leastError = 1e-3

// aicc is n*ln(RSS/n) + 2k + 2k(k+1)/(n-k-1), with the variance of the residuals as one of the k
// parameters.
func aicc(points []Point, c Curve) *float64 {
	n, k := float64(len(points)), float64(c.parameters()+1)
	if n-k-1 <= 0 {
		return nil
	}
	sum := 0.0
	for _, p := range points {
		r := c.At(p.N)/p.X - 1
		sum += r * r
	}
	v := n*math.Log(max(sum/n, leastError*leastError)) + 2*k + 2*k*(k+1)/(n-k-1)
	return &v
}

// near is the ratio of two errors below which the models cannot be separated.
const near = 1.25

func rankText(ranked []Ranked, points int) string {
	if len(ranked) == 0 {
		return fmt.Sprintf("measured concurrencies: %d; comparing models takes %d", points, leastPoints)
	}
	best := ranked[0]
	text := fmt.Sprintf("%s explains the points best: it predicts each one from the others to within %s", best.Name(), share(best.LeaveOneOut))
	var others, alike []string
	for _, r := range ranked[1:] {
		if max(r.LeaveOneOut, leastError) < near*max(best.LeaveOneOut, leastError) {
			alike = append(alike, r.Name())
		}
		others = append(others, fmt.Sprintf("%s to within %s", r.Name(), share(r.LeaveOneOut)))
	}
	if len(others) > 0 {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	if len(alike) > 0 {
		text += ", which is too close to prefer it to " + strings.Join(alike, " or ")
	}
	return text + "."
}

func share(v float64) string {
	if v >= 10 {
		return "more than ten times"
	}
	return percent(v)
}

// part formats a share that the law's fit found. The search ends near 0, not at it, so the smallest
// shares count as none.
func part(v float64) string {
	if v < 1e-5 {
		return "none"
	}
	return percent(v)
}

// percent formats a share with two digits.
func percent(v float64) string {
	if v >= 0.995 { // where %.2g would print an exponent
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return fmt.Sprintf("%.2g%%", 100*v)
}

// names are the printed names of the models.
var names = map[string]string{ModelRoof: "min(k*c, roof)", ModelUSL: "the Universal Scalability Law"}

// Name is the printed name of the model.
func (c Curve) Name() string { return cmp.Or(names[c.Model], c.Model) }

// Text states what the curve's parameters mean.
func (c Curve) Text() string {
	switch c.Model {
	case ModelRoof:
		if c.PeakN == nil {
			return fmt.Sprintf("each unit of concurrency adds %.3g/s, and no roof was seen", c.K)
		}
		return fmt.Sprintf("each unit of concurrency adds %.3g/s, up to a roof of %.4g/s at concurrency %.3g", c.K, c.Roof, *c.PeakN)
	case ModelUSL:
		text := fmt.Sprintf("concurrency 1 gives %.3g/s, %s of the work is serial and %s is coherence cost", c.Lambda, part(c.Sigma), part(c.Kappa))
		if c.PeakN != nil {
			text += fmt.Sprintf("; the highest point is %.4g/s at concurrency %.3g", c.PeakX, *c.PeakN)
		}
		return text
	}
	return ""
}

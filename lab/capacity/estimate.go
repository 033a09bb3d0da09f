package capacity

import (
	"cmp"
	"math"
	"slices"
)

// Estimate is the rate at which the SLO slices of one variant turn from met to missed. The share of
// slices that meet the SLO is a falling logistic curve of ln(rate).
type Estimate struct {
	Rate50         float64 // half of the slices meet the SLO: the steepest point, best for ratios
	Rate50Interval *[2]float64
	Rate50Error    float64 // standard error of ln(Rate50)
	Rate95         float64 // 95% of the slices meet the SLO: the rate to plan with
	Rate95Interval *[2]float64
	Trials         int
	Met, Missed    int
}

// Trial is the result of one SLO slice.
type Trial struct {
	Rate float64 // of arrivals, per second
	Met  bool
}

// The curve has two parameters: m, the logarithm of the rate at 50%, and s, its width in ln(rate).
// The priors are wide, so that a dozen trials outweigh them.
const (
	// The prior of the rate at 50% covers 0.02 to 2.5 times the peak work rate, and is highest just
	// below the peak: rate50Middle is the median, rate50Scale the width in ln(rate), with the tails of a
	// Cauchy distribution. If a rate above the peak was tried, the upper end is 2.5 times that rate;
	// without a peak, the range is that of the rates tried.
	rate50Low, rate50High     = 0.02, 2.5
	rate50Middle, rate50Scale = 0.75, 0.35
	// slopeMiddle is the prior's median of s, slopeScale the standard deviation of ln(s): 0.6% to 15%
	// in 95% of cases.
	slopeMiddle, slopeScale = 0.035, 0.9
	slopeLow, slopeHigh     = 0.003, 0.5
	// stray is the share of trials that do not depend on the rate, half met and half missed: a burst
	// of other processes, a pause. Without it a single such trial far from the rate at 50% would widen
	// the curve.
	stray = 0.06
)

// gridSlopes and gridRates are the grid's size. A first, coarse grid over the whole range locates a
// second, fine one.
const gridSlopes, gridRates = 12, 96

// rate95Odds are the odds of meeting the SLO at the rate that 95% of the slices meet: 95 to 5.
const rate95Odds = 19

// belief is a point of the posterior distribution.
type belief struct{ m, s, weight float64 }

func (b belief) rate95() float64 { return b.m - b.s*math.Log(rate95Odds) }

// FitTrials fits the curve. A peak work rate above 0 sets the prior of the rate at 50%. The
// intervals are 95% credible: they exist for any trials, are wide where the trials show little, and
// are nil without a trial.
func FitTrials(trials []Trial, peak float64) Estimate {
	e := Estimate{Trials: len(trials)}
	for _, v := range trials {
		if v.Met {
			e.Met++
		} else {
			e.Missed++
		}
	}
	if len(trials) == 0 {
		return e
	}
	post := posterior(trials, peak)
	read := func(of func(belief) float64) (median float64, in *[2]float64) {
		q := quantilesOf(post, of, 0.025, 0.5, 0.975)
		return math.Exp(q[1]), &[2]float64{math.Exp(q[0]), math.Exp(q[2])}
	}
	e.Rate50, e.Rate50Interval = read(func(b belief) float64 { return b.m })
	e.Rate95, e.Rate95Interval = read(belief.rate95)
	e.Rate50Error = math.Log(e.Rate50Interval[1]/e.Rate50Interval[0]) / (2 * 1.96)
	return e
}

// AtLeast reports whether the trials show only a lower bound: every slice met the SLO.
func (e Estimate) AtLeast() bool { return e.Missed == 0 }

// AtMost reports whether the trials show only an upper bound: every slice missed the SLO.
func (e Estimate) AtMost() bool { return e.Met == 0 }

// NextRate is the rate of the next SLO slice, per second, at most limit (zero means no limit). u is
// uniform in [0,1).
//
// The rate is drawn from the current posterior, so the first rates are spread out and later ones
// are where a trial has most effect: alternately just above the rate at 50%, where it moves that
// rate most, and near the rate at 95%, where it moves the curve's slope.
func NextRate(trials []Trial, peak, limit, u float64) float64 {
	const slow = 100 // per second: the first rate for a target of which nothing is known
	if peak <= 0 && len(trials) == 0 {
		peak = cmp.Or(limit, slow)
	}
	const pastRate50, nearRate95 = 0.6, -2.2 // in units of s: 35% and 90% of the slices meet the SLO there
	offset := pastRate50
	if len(trials)%2 == 1 {
		offset = nearRate95
	}
	q := quantilesOf(posterior(trials, peak), func(b belief) float64 { return b.m + offset*b.s }, 0.1+0.8*min(max(u, 0), 1))
	rate := math.Exp(q[0])
	if len(trials) < 2 && peak > 0 {
		rate = min(rate, peak)
	}
	if rate = RoundRate(max(rate, peak*rate50Low)); limit > 0 {
		rate = min(rate, limit)
	}
	return rate
}

// posterior computes the grid's weights from the trials.
func posterior(trials []Trial, peak float64) []belief {
	prior := func(m float64) (log float64) { return 0 }
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range trials {
		low, high = min(low, math.Log(v.Rate)), max(high, math.Log(v.Rate))
	}
	if peak > 0 {
		middle := math.Log(peak * rate50Middle)
		prior = func(m float64) float64 { z := (m - middle) / rate50Scale; return -math.Log1p(z * z) }
		low, high = math.Log(peak), max(high, math.Log(peak))
	}
	low, high = low+math.Log(rate50Low), high+math.Log(rate50High)
	coarse := weigh(trials, prior, low, high)
	const beyond = 1e-6 // share of the posterior that the fine grid omits
	q := quantilesOf(coarse, func(b belief) float64 { return b.m }, beyond, 1-beyond)
	step := (high - low) / gridRates
	return weigh(trials, prior, q[0]-step, q[1]+step)
}

// weigh is the posterior over a grid whose rates are evenly spaced from low to high.
func weigh(trials []Trial, prior func(m float64) (log float64), low, high float64) []belief {
	step := (high - low) / (gridRates - 1)
	var centres, priors [gridRates]float64
	for j := range centres {
		centres[j] = low + float64(j)*step
		priors[j] = prior(centres[j])
	}
	grid := make([]belief, 0, gridSlopes*gridRates)
	best := math.Inf(-1)
	for i := range gridSlopes {
		s := slopeLow * math.Pow(slopeHigh/slopeLow, float64(i)/(gridSlopes-1))
		z := math.Log(s/slopeMiddle) / slopeScale
		for j, chance := range likelihood(trials, low, step, max(s, step/2)) {
			weight := priors[j] - z*z/2 + chance
			best = max(best, weight)
			grid = append(grid, belief{centres[j], s, weight})
		}
	}
	sum := 0.0
	for i := range grid {
		grid[i].weight = math.Exp(grid[i].weight - best)
		sum += grid[i].weight
	}
	for i := range grid {
		grid[i].weight /= sum
	}
	return grid
}

// likelihood is the log likelihood of the trials under the curves of one s, one value per rate of
// the grid.
func likelihood(trials []Trial, low, step, s float64) []float64 {
	logs, products := make([]float64, gridRates), slices.Repeat([]float64{1}, gridRates)
	next := math.Exp(-step / s) // factor of the odds against meeting the SLO, from one rate of the grid to the next
	for i, v := range trials {
		odds := math.Exp((math.Log(v.Rate) - low) / s)
		for j := range products {
			chance := 1 / (1 + odds)
			if !v.Met {
				chance = 1 - chance
			}
			products[j] *= stray/2 + (1-stray)*chance
			odds *= next
		}
		// the product of 64 factors of at least 2% does not underflow
		if i%64 == 63 || i == len(trials)-1 {
			for j, p := range products {
				logs[j], products[j] = logs[j]+math.Log(p), 1
			}
		}
	}
	return logs
}

// quantilesOf returns quantiles of a figure over the posterior, interpolated between its points.
func quantilesOf(post []belief, of func(belief) float64, quantiles ...float64) []float64 {
	type point struct{ value, weight float64 }
	points := make([]point, len(post))
	for i, b := range post {
		points[i] = point{of(b), b.weight}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	out := make([]float64, 0, len(quantiles))
	sum, i := 0.0, 0
	for _, q := range quantiles { // in ascending order
		for i < len(points)-1 && sum+points[i].weight < q {
			sum += points[i].weight
			i++
		}
		value := points[i].value
		if i > 0 && points[i].weight > 0 {
			value -= (value - points[i-1].value) * (1 - min(max((q-sum)/points[i].weight, 0), 1))
		}
		out = append(out, value)
	}
	return out
}

// RoundRate keeps four digits of a rate, the precision of every table.
func RoundRate(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	if unit < 1 {
		return math.Round(rate*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(rate/unit) * unit
}

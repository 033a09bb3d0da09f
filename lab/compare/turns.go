package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"dyno/lab/record"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A block is one round of turns, which visits each variant at most once (record.Slice). batchBlocks
// is how many blocks in a row give one sample, their median: a disturbance that lasts for two of
// them does not change it. leastBlocks is the smallest number of blocks, at the end of a generation,
// that gives a sample, too.
const (
	batchBlocks = 5
	leastBlocks = 3
)

// Arm is one side of a comparison: a variant in a role (record.RoleMeasure, RoleControl,
// RoleAblation).
type Arm struct{ Role, Variant string }

func (s Arm) of(r *record.Run) bool { return r.Spec.Role == s.Role && r.Spec.Variant == s.Variant }

func (s Arm) took(slice *record.Slice, kind string) bool {
	return slice.Kind == kind && slice.Role == s.Role && slice.Variant == s.Variant
}

// Turns compares two sides by their slices in the same blocks. MetricWork and MetricCPU are read
// from work slices. MetricP99 is read from SLO slices, in blocks with one rate for both sides, and
// so is MetricCPU if there are no work slices. The interval is corrected for the interim analyses
// of Decided, so that it may be read at any time, and includes the noise floor if the experiment
// has an A/A control.
func Turns(all []record.Slice, metric string, a, b Arm) Comparison {
	c := Comparison{Schema: Schema, Metric: metric, A: a.Variant, B: b.Variant, Verdict: Invalid, Warnings: []string{}}
	t := turnsOf(all, metric, a, b)
	c.Blocks = len(t.blocks)
	if t.lost > 0 {
		c.warn("%d of %d blocks are left out: a slice of theirs is invalid", t.lost, t.lost+c.Blocks)
	}
	if c.Blocks == 0 {
		what := "no block has a valid slice of both sides"
		if kindFor(all, metric) == record.SliceSLO {
			what += ", at one equal rate"
		}
		c.warn("%s", what)
		return c
	}
	logs := t.batches()
	c.Samples = len(logs)
	if c.Samples == 0 {
		c.Ratio = math.Exp(Median(t.logs()))
	} else {
		c.Ratio = math.Exp(stat.Mean(logs, nil))
		c.each = t.span / time.Duration(c.Samples)
	}
	alpha := alphaAt(c.Samples)
	c.Interval, c.Confidence = interval(logs, alpha), 1-alpha
	c.Verdict = verdict(better(metric), c.Interval)
	c.allow(noiseOf(all, metric, t, b, turns.batches))
	if c.Verdict == NotDecided {
		c.TimeToDecide = t.timeToDecide(logs, c.Interval)
	}
	if change, clear := drift(logs); clear {
		c.warn("drift: the ratio changed by %+.0f%% over the experiment", change*100)
	}
	return c
}

// OfEstimates compares two sides by estimates of one figure: the logarithm of b over a, its
// standard error, and the number of observations on the smaller side.
func OfEstimates(metric, a, b string, logRatio, standardError float64, n int) Comparison {
	c := Comparison{Schema: Schema, Metric: metric, A: a, B: b, Ratio: math.Exp(logRatio), Samples: n, Verdict: Invalid, Warnings: []string{}}
	if better(metric) == 0 || !positive(c.Ratio) || !positive(standardError) {
		c.Ratio = 0
		c.warn("there is no estimate of both sides")
		return c
	}
	c.Verdict = NotDecided
	if n >= MinSamples {
		c.Interval = around(logRatio, quantileT(1-confidence, n)*standardError)
		c.Verdict = verdict(better(metric), c.Interval)
	}
	return c
}

// turns holds the blocks in which both sides had a slice, in order.
type turns struct {
	blocks []block
	lost   int           // blocks in which both sides had a slice, but not both a valid one
	size   int           // blocks to a batch
	last   int           // the newest generation of the experiment: its last batch may still grow
	span   time.Duration // from the first block's beginning to the last one's end
}

// block is the logarithm of one block's ratio or, of one side alone, of its sample.
type block struct {
	generation int
	log        float64
}

func turnsOf(all []record.Slice, metric string, a, b Arm) turns {
	type key struct{ generation, number int }
	type found struct {
		as, bs       []float64
		rates        []float64
		seenA, seenB bool
	}
	t := turns{size: batchBlocks}
	in := map[key]*found{}
	kind := kindFor(all, metric)
	var first, end int64
	for i := range all {
		s := &all[i]
		t.last = max(t.last, s.Generation)
		isA, isB := a.took(s, kind), b.took(s, kind)
		if !isA && !isB {
			continue
		}
		k := key{s.Generation, s.Block}
		if in[k] == nil {
			in[k] = &found{}
		}
		if first == 0 || s.Start < first {
			first = s.Start
		}
		end = max(end, s.Start+int64(s.Length))
		f := in[k]
		f.seenA, f.seenB = f.seenA || isA, f.seenB || isB
		v := sampleOf(s, metric)
		if s.Invalid != "" || !positive(v) {
			continue
		}
		f.rates = append(f.rates, s.Rate)
		if isA {
			f.as = append(f.as, v)
		}
		if isB {
			f.bs = append(f.bs, v)
		}
	}
	t.span = time.Duration(end - first)
	keys := make([]key, 0, len(in))
	for k := range in {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y key) int { return cmp.Or(x.generation-y.generation, x.number-y.number) })
	for _, k := range keys {
		f := in[k]
		switch {
		case kind == record.SliceSLO && len(f.rates) > 0 && slices.Min(f.rates) != slices.Max(f.rates): // not comparable: latency and CPU depend on the rate
		case len(f.as) > 0 && len(f.bs) > 0:
			log := math.Log(Median(f.bs))
			if a != b {
				log -= math.Log(Median(f.as))
			}
			t.blocks = append(t.blocks, block{k.generation, log})
			// a visit took several slices of a process of its own: their median is a sample
			if len(f.as) > 1 || len(f.bs) > 1 {
				t.size = 1
			}
		case f.seenA && f.seenB:
			t.lost++
		}
	}
	return t
}

// kindFor returns the kind of slice that holds a metric.
func kindFor(all []record.Slice, metric string) string {
	worked := slices.ContainsFunc(all, func(s record.Slice) bool { return s.Kind == record.SliceWork })
	if metric == MetricP99 || metric == MetricCPU && !worked {
		return record.SliceSLO
	}
	return record.SliceWork
}

// sampleOf reads a metric from a slice; 0: the slice does not hold it.
func sampleOf(s *record.Slice, metric string) float64 {
	switch metric {
	case MetricWork:
		return s.PerS()
	case MetricCPU:
		return s.CPUMicros()
	case MetricP99:
		return s.Latency.P99
	}
	return 0
}

func (t turns) logs() []float64 {
	logs := make([]float64, len(t.blocks))
	for i, b := range t.blocks {
		logs[i] = b.log
	}
	return logs
}

// batches returns the medians of the blocks, t.size of them in a row within a generation, since a
// new process gives a new sample.
func (t turns) batches() []float64 {
	var out []float64
	logs := t.logs()
	for from := 0; from < len(logs); {
		n := 1
		for n < t.size && from+n < len(logs) && t.blocks[from+n].generation == t.blocks[from].generation {
			n++
		}
		if n >= min(leastBlocks, t.size) {
			out = append(out, Median(logs[from:from+n]))
		}
		from += n
	}
	return out
}

// complete returns the batches to which no further block will be added.
func (t turns) complete() []float64 {
	i := slices.IndexFunc(t.blocks, func(b block) bool { return b.generation == t.last })
	if i >= 0 {
		whole := (len(t.blocks) - i) / t.size * t.size
		t.blocks = t.blocks[:i+whole]
	}
	return t.batches()
}

// around returns an interval of a logarithm, as ratios.
func around(log, half float64) *[2]float64 {
	return &[2]float64{math.Exp(log - half), math.Exp(log + half)}
}

// quantileT returns the half-width of an interval over n samples, in standard errors. The interval
// misses with the probability alpha.
func quantileT(alpha float64, n int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - alpha/2)
}

package compare

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/parts/quicktest"
)

var plain, control, tuned = Arm{record.RoleMeasure, "plain"}, Arm{record.RoleControl, "plain"}, Arm{record.RoleMeasure, "tuned"}

// workOf is a work slice at a rate, 2 s after the one of the block before.
func workOf(s Arm, generation, number int, perSecond float64) record.Slice {
	length := time.Duration(300 / perSecond * float64(time.Second))
	return record.Slice{Kind: record.SliceWork, Role: s.Role, Variant: s.Variant, Generation: generation, Block: number,
		Start: int64(generation*1000+number*2) * int64(time.Second), Length: length, Served: 300, TargetCPU: 300 * 400e-6 * 1000 / perSecond}
}

// steadyTurns are blocks of plain and tuned at these ratios, the same in every block except for a
// small wave.
func steadyTurns(generations, blocks int, ratio float64) (all []record.Slice) {
	for g := 1; g <= generations; g++ {
		for n := 1; n <= blocks; n++ {
			level := 1000 * math.Exp(0.3*math.Sin(float64(n)))
			wave := math.Exp(0.01 * math.Sin(float64(7*g+3*n)))
			all = append(all, workOf(plain, g, n, level), workOf(tuned, g, n, level*ratio*wave), workOf(control, g, n, level/wave))
		}
	}
	return all
}

func TestTurns(t *testing.T) {
	all := steadyTurns(3, 13, 1.1) // 13 blocks are two batches and one of the remaining three
	for metric, ratio := range map[string]float64{MetricWork: 1.1, MetricCPU: 1 / 1.1} {
		c := Turns(all, metric, plain, tuned)
		if c.Verdict != Faster || math.Abs(c.Ratio/ratio-1) > 0.005 || c.Samples != 9 || c.Blocks != 39 || c.Interval == nil || c.A != "plain" || c.B != "tuned" || len(c.Warnings) > 0 {
			t.Errorf("%s: %+v", metric, c)
		}
		if back := Turns(all, metric, tuned, plain); back.Verdict != Slower || math.Abs(back.Ratio*c.Ratio-1) > 1e-9 {
			t.Errorf("%s, the other way round: %+v", metric, back)
		}
	}
	if c := Turns(all, MetricWork, plain, control); c.Verdict != Equal || ControlDiffers(c) {
		t.Errorf("the control: %+v", c)
	}
	if n := Turns(steadyTurns(3, 12, 1.1), MetricWork, plain, tuned).Samples; n != 6 {
		t.Errorf("two blocks left over in each of three generations: %d batches, want 6", n)
	}
}

func TestFewTurns(t *testing.T) {
	c := Turns(steadyTurns(1, 15, 1.1), MetricWork, plain, tuned)
	if c.Verdict != NotDecided || c.Interval != nil || math.Abs(c.Ratio/1.1-1) > 0.01 || c.TimeToDecide != "about 10 seconds more would give an interval" {
		t.Errorf("three batches: %+v", c)
	}
	if c := Turns(steadyTurns(1, 2, 1.1), MetricWork, plain, tuned); c.Verdict != NotDecided || c.Samples != 0 || math.Abs(c.Ratio/1.1-1) > 0.02 {
		t.Errorf("two blocks: %+v", c)
	}
	if c := Turns(nil, MetricWork, plain, tuned); c.Verdict != Invalid || len(c.Warnings) != 1 {
		t.Errorf("none: %+v", c)
	}
	if c := Turns(steadyTurns(1, 9, 1.1), MetricP99, plain, tuned); c.Verdict != Invalid {
		t.Errorf("a metric that slices do not have: %+v", c)
	}
}

func TestTurnsThatShowNothingAreLeftOut(t *testing.T) {
	all := steadyTurns(1, 25, 1.1)
	all[1].Invalid = "the target ended"
	all[3].Served, all[3].Length = 0, 0
	all = append(all[:6], all[7:]...) // block 3: plain did not take its turn
	c := Turns(all, MetricWork, plain, tuned)
	if c.Blocks != 22 || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "2 of 24 blocks are left out") {
		t.Errorf("%+v", c)
	}
}

// An exclusive variant's visit is several slices in a row: their median is a sample.
func TestVisitsOfSeveralSlicesAreBatches(t *testing.T) {
	var all []record.Slice
	for n := range 6 {
		for range 5 {
			all = append(all, workOf(plain, 1, n, 1000), workOf(tuned, 1, n, 1200+float64(n)))
		}
		all = append(all, workOf(tuned, 1, n, 10))
	}
	if c := Turns(all, MetricWork, plain, tuned); c.Samples != 6 || c.Blocks != 6 || math.Abs(c.Ratio-1.2025) > 1e-3 || c.Verdict != Faster {
		t.Errorf("%+v", c)
	}
}

func TestBetweenAndLadderReadSlices(t *testing.T) {
	exp := &record.Experiment{Slices: steadyTurns(2, 20, 1.1), Variants: []record.Variant{{Name: "plain"}, {Name: "tuned"}}}
	for _, s := range steadyTurns(2, 20, 1.05) {
		if s.Variant == "tuned" {
			s.Role, s.Variant = record.RoleAblation, "tuned"
			exp.Slices = append(exp.Slices, s)
		}
	}
	c := Between(exp, MetricWork, "plain", "tuned", nil)
	if c.Verdict != Faster || c.Samples != 8 || c.NoiseFloor == nil || math.Abs(c.NoiseFloor[0]-1) > 0.02 {
		t.Errorf("%+v", c)
	}
	rows := Ladder(exp, MetricWork, nil)
	if len(rows) != 2 || len(rows[1].Data) != 8 || math.Abs(rows[1].Median/rows[0].Median-1.1) > 0.02 || rows[0].ToBaseline.Verdict != Equal ||
		rows[1].ToBefore.Ratio != c.Ratio || rows[1].Ablation == nil || math.Abs(rows[1].Ablation.Ratio-1.1/1.05) > 0.01 {
		t.Errorf("%+v", rows)
	}
}

func TestOfEstimates(t *testing.T) {
	c := OfEstimates(MetricCapacity, "a", "b", math.Log(1.2), 0.02, 30)
	if c.Verdict != Faster || c.Samples != 30 || math.Abs(c.Ratio-1.2) > 1e-9 || math.Abs(c.Interval[0]-1.2*math.Exp(-2.045*0.02)) > 1e-3 {
		t.Errorf("%+v", c)
	}
	if c := OfEstimates(MetricCapacity, "a", "b", 0, 0.005, 30); c.Verdict != Equal {
		t.Errorf("%+v", c)
	}
	if c := OfEstimates(MetricCapacity, "a", "b", math.Log(1.2), 0.2, 3); c.Verdict != NotDecided || c.Interval != nil {
		t.Errorf("%+v", c)
	}
	for _, se := range []float64{0, math.NaN(), math.Inf(1)} {
		if c := OfEstimates(MetricCapacity, "a", "b", math.NaN(), se, 30); c.Verdict != Invalid || c.Ratio != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// turnsTaker takes turns of plain and tuned on a machine, in random order.
type turnsTaker struct {
	rng    *rand.Rand
	effect float64              // ln of tuned's rate over plain's
	noise  func() (log float64) // noise of the next slice
	all    []record.Slice
	blocks int
}

const perGeneration = 30 // blocks

func (x *turnsTaker) block() {
	g, n := 1+x.blocks/perGeneration, 1+x.blocks%perGeneration
	x.blocks++
	slices := []record.Slice{workOf(plain, g, n, 1000), workOf(tuned, g, n, 1000*x.effect)}
	for _, i := range x.rng.Perm(2) {
		factor := math.Exp(x.noise())
		slices[i].Length = time.Duration(float64(slices[i].Length) * factor)
		slices[i].TargetCPU *= factor
	}
	x.all = append(x.all, slices...)
}

// run continues until an interim analysis decides, or for a given number of blocks.
func (x *turnsTaker) run(blocks int) (c Comparison, decided bool) {
	for range blocks {
		x.block()
		if x.blocks%batchBlocks == 0 && Decided(x.all, MetricWork, plain, tuned) {
			decided = true
			break
		}
	}
	return Turns(x.all, MetricWork, plain, tuned), decided
}

// sliceNoise are shapes of noise of successive slices, as logarithms of their relative duration;
// size is the standard deviation of a block's log ratio without disturbances.
var sliceNoise = map[string]func(rng *rand.Rand, size float64) func() float64{
	"independent": func(rng *rand.Rand, size float64) func() float64 {
		return func() float64 { return size / math.Sqrt2 * rng.NormFloat64() }
	},
	// one slice in ten takes half as long again
	"heavy tails": func(rng *rand.Rand, size float64) func() float64 {
		return func() float64 {
			return size/math.Sqrt2*rng.NormFloat64() + b2f(rng.Float64() < 0.1)*math.Log(1.5)
		}
	},
	"autocorrelated": func(rng *rand.Rand, size float64) func() float64 {
		level := 0.0
		return func() float64 {
			level = 0.9*level + 0.5*size*rng.NormFloat64()
			return level + size/2*rng.NormFloat64()
		}
	},
	"drift": func(rng *rand.Rand, size float64) func() float64 { // by a third in 100 blocks
		n, disturbed := 0.0, 0
		return func() float64 {
			n++
			if disturbed--; disturbed < 0 && rng.Float64() < 0.02 {
				disturbed = 5
			}
			return 0.0015*n + size/math.Sqrt2*rng.NormFloat64() + b2f(disturbed >= 0)*math.Log(1.5)
		}
	},
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Two equal sides come out different in at most 5% of experiments, although they are tested after
// every batch and end when an interim analysis decides. Over 400 of them that is at most 33, with
// three standard deviations. All seeds are fixed.
func TestTurnsOfTheSame(t *testing.T) {
	const cases = 400
	limit := int(0.05*cases + 3*math.Sqrt(cases*0.05*0.95))
	for name, noise := range sliceNoise {
		for _, batches := range []int{5, 28} {
			if !quicktest.All() && batches == 28 && name != "heavy tails" {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d batches", name, batches), func(t *testing.T) {
				t.Parallel()
				different, equals := 0, 0
				for seed := range uint64(cases) {
					rng := rand.New(rand.NewPCG(seed, 11))
					x := turnsTaker{rng: rng, effect: 1, noise: noise(rng, 0.05)}
					switch c, decided := x.run(batches * batchBlocks); {
					case c.Verdict == Faster || c.Verdict == Slower:
						different++
					case c.Verdict == Equal:
						equals++
					case decided:
						t.Errorf("seed %d: decided, but %+v", seed, c)
					}
				}
				t.Logf("different in %.1f%%, equal in %.0f%%", 100*float64(different)/cases, 100*float64(equals)/cases)
				if different > limit {
					t.Errorf("different in %d of %d, more than %d", different, cases, limit)
				}
			})
		}
	}
}

// A change of 5% is found within 28 batches where a block's ratio scatters by 5%, for any shape of
// noise.
func TestTurnsFindAChange(t *testing.T) {
	const cases = 100
	for name, noise := range sliceNoise {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, took := 0, 0
			for seed := range uint64(cases) {
				rng := rand.New(rand.NewPCG(seed, 12))
				x := turnsTaker{rng: rng, effect: 1.05, noise: noise(rng, 0.05)}
				if c, decided := x.run(28 * batchBlocks); decided && c.Verdict == Faster {
					found++
				}
				took += x.blocks
			}
			t.Logf("found in %d%%, after %d blocks on average", found*100/cases, took/cases)
			if found < 90*cases/100 {
				t.Errorf("found in %d of %d", found, cases)
			}
		})
	}
}

// A decided comparison stays decided as the experiment continues.
func TestDecidedStays(t *testing.T) {
	decided := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 13))
		x := turnsTaker{rng: rng, effect: 1.06, noise: sliceNoise["heavy tails"](rng, 0.03)}
		was := false
		for range 120 {
			x.block()
			is := Decided(x.all, MetricWork, plain, tuned)
			if was && !is {
				t.Fatalf("seed %d: no longer decided after %d blocks", seed, x.blocks)
			}
			was = is
		}
		if was {
			decided++
		}
	}
	if decided < 15 { // in others a batch was disturbed
		t.Errorf("6%% was decided in %d of 20", decided)
	}
}

// The alphas of the interim analyses and of the final one add up to 5%, up to the last interim one.
// After it the sum exceeds 5%, so their joint probability is simulated here on the batches' log
// ratios, as if the experiment continued after every interim analysis.
func TestInterimsAndTheEndTakeFivePercent(t *testing.T) {
	for n := MinSamples; n <= 28; n++ {
		sum := alphaAt(n)
		for _, l := range interims {
			if l.batches < n {
				sum += l.alpha
			} else if l.batches == n && alphaAt(n) < l.alpha-1e-12 {
				t.Errorf("the final analysis at %d batches has less than the interim one", n)
			}
		}
		if sum > 0.05+1e-12 {
			t.Errorf("an end after %d batches takes the sum to %g", n, sum)
		}
	}
	const cases = 10000
	ends := []int{29, 40, 56, 112}
	alarms := make([]int, len(ends))
	rng := rand.New(rand.NewPCG(1, 14))
	logs := make([]float64, ends[len(ends)-1])
	for range cases {
		for i := range logs {
			logs[i] = rng.NormFloat64()
		}
		alarm := false
		for _, l := range interims {
			alarm = alarm || different(interval(logs[:l.batches], l.alpha))
		}
		for i, end := range ends {
			if alarm || different(interval(logs[:end], alphaAt(end))) {
				alarms[i]++
			}
		}
	}
	for i, end := range ends {
		share := float64(alarms[i]) / cases
		t.Logf("an end after %3d batches: %.2f%% of false alarms", end, 100*share)
		if share > 0.05 {
			t.Errorf("an end after %d batches: %g", end, share)
		}
	}
}

func TestControlDiffers(t *testing.T) {
	in := func(lo, hi float64) Comparison {
		return Comparison{Ratio: math.Sqrt(lo * hi), Interval: &[2]float64{lo, hi}, Samples: 10}
	}
	for name, c := range map[string]struct {
		of   Comparison
		want bool
	}{
		"equal":                        {in(0.99, 1.01), false},
		"one chance in twenty":         {in(1.025, 1.035), false}, // 99.9%: [1.0195, 1.041]
		"clearly":                      {in(1.035, 1.045), true},
		"clearly, the other way":       {in(0.95, 0.96), true},
		"a clear difference within 2%": {in(1.012, 1.014), false},
		"no interval":                  {Comparison{Ratio: 2}, false},
	} {
		if got := ControlDiffers(c.of); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTimeToDecide(t *testing.T) {
	for name, c := range map[string]struct {
		ratio, noise float64
		want         string // in the words
	}{
		"a difference of the size seen": {1.03, 0.15, "would decide 3%"},
		"of 5%":                         {1.002, 0.2, "would decide 5%"},
		"equal or not":                  {1.01, 0.06, "would decide 2%"},
		"never":                         {1.03, 4, "more than an hour more to decide"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []record.Slice
			for n := range 30 {
				sign := float64(1 - 2*(n/batchBlocks%2))
				all = append(all, workOf(plain, 1, n, 1000), workOf(tuned, 1, n, 1000*c.ratio*math.Exp(sign*c.noise/2)))
			}
			got := Turns(all, MetricWork, plain, tuned)
			if got.Verdict != NotDecided || !strings.Contains(got.TimeToDecide, c.want) {
				t.Errorf("%+v %v, want %q", got, got.Interval, c.want)
			}
		})
	}
	g, _ := ParseGate("work>=0.97")
	c := Turns(steadyTurns(1, 20, 1), MetricWork, plain, tuned)
	c.Ratio, c.Interval = 0.99, &[2]float64{0.96, 1.02}
	if out := g.Check(c); out.Verdict != Undecided || !strings.Contains(out.Text, "seconds more would decide") {
		t.Errorf("%+v", out)
	}
}

// recorded reads the A/A series recorded on machines: slices of a variant and its control.
func recorded(t *testing.T) map[string][]record.Slice {
	t.Helper()
	files, err := filepath.Glob("testdata/aa-*.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]record.Slice{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var s record.Slice
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[name] = append(out[name], s)
		}
		f.Close()
	}
	return out
}

// A recorded variant and its control, in blocks drawn from the record in runs of ten (which keeps
// lasting disturbances together), come out different in at most 5% of cases.
func TestRecordedTurnsOfTheSame(t *testing.T) {
	const inARow = 10
	cases := quicktest.Of(50, 400)
	limit := int(0.05*float64(cases) + 3*math.Sqrt(float64(cases)*0.05*0.95))
	for name, all := range recorded(t) {
		var blocks [][]record.Slice
		var a Arm
		index := map[[2]int]int{}
		for _, s := range all {
			if s.Kind != record.SliceWork {
				continue
			}
			if s.Role == record.RoleControl {
				a = Arm{record.RoleMeasure, s.Variant}
			}
			key := [2]int{s.Generation, s.Block}
			if _, ok := index[key]; !ok {
				index[key] = len(blocks)
				blocks = append(blocks, nil)
			}
			blocks[index[key]] = append(blocks[index[key]], s)
		}
		if a.Variant == "" || len(blocks) < 2*inARow {
			t.Fatalf("%s holds %d blocks, and a control of %q", name, len(blocks), a.Variant)
		}
		b := Arm{record.RoleControl, a.Variant}
		for _, metric := range []string{MetricWork, MetricCPU} {
			different := 0
			for seed := range uint64(cases) {
				rng := rand.New(rand.NewPCG(seed, 15))
				var drawn []record.Slice
				for n := 0; n < 28*batchBlocks; {
					from := rng.IntN(len(blocks) - inARow + 1)
					for _, block := range blocks[from : from+inARow] {
						swap := rng.IntN(2) == 1 // which of two equal sides is the control does not matter
						for _, s := range block {
							s.Generation, s.Block = 1+n/perGeneration, 1+n%perGeneration
							if swap && s.Variant == a.Variant {
								s.Role = map[string]string{record.RoleMeasure: record.RoleControl, record.RoleControl: record.RoleMeasure}[s.Role]
							}
							drawn = append(drawn, s)
						}
						n++
					}
					if n%batchBlocks == 0 && Decided(drawn, metric, a, b) {
						break
					}
				}
				if v := Turns(drawn, metric, a, b).Verdict; v == Faster || v == Slower {
					different++
				}
			}
			t.Logf("%s, %s: different in %.1f%%", name, metric, 100*float64(different)/float64(cases))
			if different > limit {
				t.Errorf("%s, %s: different in %d of %d, more than %d", name, metric, different, cases, limit)
			}
		}
	}
}

// Slices at different rates do not compare each other's latency.
func TestP99AtOneRate(t *testing.T) {
	var all []record.Slice
	for _, s := range steadyTurns(2, 20, 1) {
		p99 := 10.0
		if s.Variant == "tuned" {
			p99 = 8
		}
		s.Kind, s.Rate, s.Latency = record.SliceSLO, 500, record.Quantiles{P99: p99}
		if s.Block > 15 && s.Variant == "tuned" {
			s.Rate, s.Latency.P99 = 900, 80
		}
		all = append(all, s)
	}
	if c := Turns(all, MetricP99, plain, tuned); math.Abs(c.Ratio-0.8) > 1e-9 || c.Blocks != 30 {
		t.Errorf("%+v", c)
	}
	for i := range all {
		all[i].Rate += float64(i)
	}
	if c := Turns(all, MetricP99, plain, tuned); c.Verdict != Invalid || c.Blocks != 0 {
		t.Errorf("%+v", c)
	}
}

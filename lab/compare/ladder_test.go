package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyno/lab/record"
)

// ladderOf runs a ladder whose steps have these capacities, with 1% of noise, and returns the
// experiment and its samples.
func ladderOf(t *testing.T, rounds int, capacities map[string]float64, without map[string]float64) (*record.Experiment, Sample) {
	t.Helper()
	r := Rotation{Variants: []string{"plain", "pooled", "tuned"}, Rounds: rounds, Control: "plain"}
	for name := range without {
		r.Ablations = append(r.Ablations, name)
	}
	exp := carryOut(t, r, 1)
	for _, name := range r.Variants {
		exp.Variants = append(exp.Variants, record.Variant{Name: name, Change: "how " + name})
	}
	rng := rand.New(rand.NewPCG(8, 8))
	type key struct {
		role, variant string
		round         int
	}
	data := map[key]float64{}
	for _, run := range exp.Runs {
		capacity := capacities[run.Spec.Variant]
		if run.Spec.Role == record.RoleAblation {
			capacity = without[run.Spec.Variant]
		}
		data[key{run.Spec.Role, run.Spec.Variant, run.Spec.Round}] = capacity * math.Exp(0.01*rng.NormFloat64())
	}
	return exp, func(role, variant string, round int) (float64, bool) {
		v, ok := data[key{role, variant, round}]
		return v, ok
	}
}

func TestLadder(t *testing.T) {
	exp, sample := ladderOf(t, 8, map[string]float64{"plain": 1000, "pooled": 1500, "tuned": 1800}, map[string]float64{"pooled": 1200})
	rows := Ladder(exp, MetricCapacity, sample)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	plain, pooled, tuned := rows[0], rows[1], rows[2]
	if plain.ToBefore != nil || plain.ToBaseline.Verdict != Equal || plain.ToBaseline.NoiseFloor == nil || math.Abs(plain.Median/1000-1) > 0.02 {
		t.Errorf("plain: %+v", plain)
	}
	for name, c := range map[string]struct {
		got   Comparison
		ratio float64
	}{
		"pooled to plain":     {pooled.ToBaseline, 1.5},
		"tuned to plain":      {tuned.ToBaseline, 1.8},
		"tuned to pooled":     {*tuned.ToBefore, 1.2},
		"pooled to before":    {*pooled.ToBefore, 1.5},
		"tuned, less pooling": {*pooled.Ablation, 1.5},
	} {
		if c.got.Verdict != Faster || math.Abs(c.got.Ratio/c.ratio-1) > 0.02 || c.got.Samples != 8 || c.got.NoiseFloor == nil {
			t.Errorf("%s: %+v, want %g", name, c.got, c.ratio)
		}
	}
	if pooled.Ablation.A != "tuned without pooled" || pooled.Ablation.B != "tuned" || tuned.Ablation != nil {
		t.Errorf("leave-out %+v, %+v", pooled.Ablation, tuned.Ablation)
	}
	if len(pooled.Data) != 8 || pooled.Change != "how pooled" {
		t.Errorf("%+v", pooled)
	}
}

// The variants of a comparison have no order: each is compared with its reference.
func TestVariantsBesideTheirReference(t *testing.T) {
	exp, sample := ladderOf(t, 8, map[string]float64{"plain": 1000, "pooled": 1500, "tuned": 1800}, nil)
	exp.Kind = record.KindCompare
	rows := Ladder(exp, MetricCapacity, sample)
	if c := rows[2].ToBaseline; c.A != "plain" || math.Abs(c.Ratio/1.8-1) > 0.02 || rows[2].ToBefore.A != "plain" {
		t.Errorf("against the first: %+v, %+v", c, rows[2].ToBefore)
	}
	exp.Variants[2].Reference = "pooled"
	rows = Ladder(exp, MetricCapacity, sample)
	if c := rows[2].ToBaseline; c.A != "pooled" || math.Abs(c.Ratio/1.2-1) > 0.02 || rows[1].ToBaseline.A != "plain" {
		t.Errorf("against another: %+v, %+v", c, rows[1].ToBaseline)
	}
	exp.Variants[2].Reference = "left out"
	if c := Ladder(exp, MetricCapacity, sample)[2].ToBaseline; c.A != "plain" {
		t.Errorf("against one that is not there: %+v", c)
	}
}

func TestLadderOfSearchesAlone(t *testing.T) {
	exp := &record.Experiment{Variants: []record.Variant{{Name: "a"}, {Name: "b"}}}
	for _, v := range exp.Variants {
		exp.Runs = append(exp.Runs, &record.Run{Spec: record.RunSpec{Role: record.RoleSearch, Variant: v.Name}})
	}
	rows := Ladder(exp, MetricCapacity, func(role, variant string, round int) (float64, bool) {
		return map[string]float64{"a": 100, "b": 150}[variant], role == record.RoleSearch && round == 0
	})
	if c := rows[1].ToBaseline; c.Ratio != 1.5 || c.Interval != nil || c.Samples != 1 || rows[0].Median != 100 {
		t.Errorf("%+v", rows)
	}
}

func TestBetweenSaysWhatWasLostAndDisturbed(t *testing.T) {
	exp, sample := ladderOf(t, 8, map[string]float64{"plain": 1000, "pooled": 1500, "tuned": 1500}, nil)
	c := Between(exp, MetricCapacity, "plain", "pooled", func(role, variant string, round int) (float64, bool) {
		v, ok := sample(role, variant, round)
		return v, ok && !(variant == "pooled" && round == 3)
	})
	words := strings.Join(c.Warnings, "\n")
	if c.Samples != 7 || !strings.Contains(words, "one side has no result: round 3") || !strings.Contains(words, "runs were disturbed, for example: neighbours") {
		t.Errorf("%+v", c)
	}
	if c := Between(exp, MetricCapacity, "plain", "unknown", sample); c.Verdict != Invalid {
		t.Errorf("%+v", c)
	}
}

func TestTheFloorIsHeldAgainstTheClaim(t *testing.T) {
	exp, sample := ladderOf(t, 8, map[string]float64{"plain": 1000, "pooled": 1050, "tuned": 1050}, nil)
	off := func(role, variant string, round int) (float64, bool) {
		v, ok := sample(role, variant, round)
		if role == record.RoleControl {
			v *= 1.05 + 0.05*float64(round%2)
		}
		return v, ok
	}
	words := strings.Join(Between(exp, MetricCapacity, "plain", "pooled", off).Warnings, "\n")
	if !strings.Contains(words, "the baseline differs from itself") || !strings.Contains(words, "is within the range of the baseline against itself") {
		t.Errorf("%q", words)
	}
}

func TestAtEqualRate(t *testing.T) {
	run := func(role, variant string, round int, p99, cpu float64, invalid string) *record.Run {
		r := &record.Run{Spec: record.RunSpec{Role: role, Variant: variant, Round: round}, Invalid: invalid}
		r.Totals.Response.P99 = p99
		if cpu > 0 {
			r.Totals.Server = &record.ServerTotals{CPUMicrosPerRequest: cpu}
		}
		return r
	}
	exp := &record.Experiment{Runs: []*record.Run{
		run(record.RoleMeasure, "a", 1, 4, 30, ""),
		run(record.RoleMeasure, "a", 1, 9, 30, ""),
		run(record.RoleMeasure, "a", 1, 900, 900, "neighbours"),
		run(record.RoleControl, "a", 1, 5, 0, ""),
	}}
	if v, ok := AtEqualRate(exp, MetricP99)(record.RoleMeasure, "a", 1); !ok || math.Abs(v-6) > 1e-9 {
		t.Errorf("p99 %g %v", v, ok)
	}
	if v, ok := AtEqualRate(exp, MetricCPU)(record.RoleMeasure, "a", 1); !ok || math.Abs(v-30) > 1e-9 {
		t.Errorf("cpu %g %v", v, ok)
	}
	for _, c := range []struct{ metric, role, variant string }{{MetricCPU, record.RoleControl, "a"}, {MetricP99, record.RoleMeasure, "b"}, {MetricCapacity, record.RoleMeasure, "a"}} {
		if v, ok := AtEqualRate(exp, c.metric)(c.role, c.variant, 1); ok {
			t.Errorf("%+v: %g", c, v)
		}
	}
}

// The ranks are those of tables of the sign test.
func TestMedianInterval(t *testing.T) {
	for n, rank := range map[int]int{0: 0, 5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 12: 3, 20: 6, 100: 40, 2000: 956} {
		var values []float64
		for i := range n {
			values = append(values, float64(n-i)) // from n down to 1
		}
		got := MedianInterval(values)
		switch {
		case rank == 0 && got != nil:
			t.Errorf("of %d values: %v", n, *got)
		case rank > 0 && (got == nil || *got != [2]float64{float64(rank), float64(n + 1 - rank)}):
			t.Errorf("of %d values: %v, want the values of rank %d", n, got, rank)
		}
	}
}

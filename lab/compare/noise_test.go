package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/parts/quicktest"
)

func TestWiden(t *testing.T) {
	in := &[2]float64{1.2, 1.5}
	for _, tt := range []struct {
		floor *[2]float64
		want  [2]float64
	}{{nil, *in}, {&[2]float64{1, 1}, *in}, {&[2]float64{0.8, 1}, [2]float64{0.96, 1.875}}, {&[2]float64{0.9, 1.25}, [2]float64{0.96, 1.875}}} {
		got := widen(in, tt.floor)
		if math.Abs(got[0]-tt.want[0]) > 1e-9 || math.Abs(got[1]-tt.want[1]) > 1e-9 {
			t.Errorf("floor %v: %v, want %v", tt.floor, *got, tt.want)
		}
	}
	if got := widen(nil, in); got != nil {
		t.Errorf("without an interval: %v", got)
	}
}

// busyMachine takes turns of plain, its control and tuned where each process of a generation has a
// level of its own, as processes have on a machine that runs other programs.
type busyMachine struct {
	rng             *rand.Rand
	ratio           float64 // tuned's rate over plain's
	process, slices float64 // standard deviations of logarithms: between processes, between slices
}

// run continues until an interim analysis decides, or for a number of generations of 30 blocks.
func (m busyMachine) run(generations int) (all []record.Slice, settled bool) {
	for g := 1; g <= generations; g++ {
		var level [3]float64
		for i := range level {
			level[i] = m.process * m.rng.NormFloat64()
		}
		for n := 1; n <= perGeneration; n++ {
			for i, s := range []Arm{plain, control, tuned} {
				rate := 1000 * math.Exp(level[i]+m.slices*m.rng.NormFloat64())
				if s == tuned {
					rate *= m.ratio
				}
				all = append(all, workOf(s, g, n, rate))
			}
			if n%batchBlocks == 0 && Decided(all, MetricWork, plain, tuned) {
				return all, true
			}
		}
	}
	return all, false
}

// Processes that differ by 3% although their programs are the same come out different in at most
// 5% of experiments, whose verdict and gate agree; a change of 1.5x is found in nearly all.
func TestProcessesOfOneProgramDiffer(t *testing.T) {
	cases := quicktest.Of(100, 400)
	gate := Gate{Metric: MetricWork, Op: ">=", Bound: 1}
	different, failed, plainly, found := 0, 0, 0, 0
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 17))
		all, _ := busyMachine{rng, 1, 0.03, 0.06}.run(3)
		c := Turns(all, MetricWork, plain, tuned)
		if c.Verdict == Faster || c.Verdict == Slower {
			different++
		}
		if gate.Check(c).Verdict == Fail {
			failed++
			if c.Verdict != Slower {
				t.Errorf("the gate %v failed, and the verdict is %q", gate, c.Verdict)
			}
		}
		alone := Turns(without(all, record.RoleControl), MetricWork, plain, tuned)
		if alone.Verdict == Faster || alone.Verdict == Slower {
			plainly++
		}
		all, settled := busyMachine{rng, 1 / 1.5, 0.03, 0.06}.run(3)
		if c := Turns(all, MetricWork, plain, tuned); settled && c.Verdict == Slower {
			found++
		}
	}
	t.Logf("of %d: different %d (without the control %d), gate failed %d, change found %d", cases, different, plainly, failed, found)
	if limit := int(0.05*float64(cases) + 3*math.Sqrt(float64(cases)*0.05*0.95)); different > limit || found < cases*98/100 {
		t.Errorf("different %d, more than %d, or found %d of %d", different, limit, found, cases)
	}
	if plainly <= different {
		t.Errorf("%d are different without the control, %d with it: the floor shows nothing", plainly, different)
	}
}

func without(all []record.Slice, role string) (out []record.Slice) {
	for _, s := range all {
		if s.Role != role {
			out = append(out, s)
		}
	}
	return out
}

// The noise floor is in the interval and its words, of either metric; not in the control's own, nor
// where every sample is of fresh processes.
func TestFloorIsIncluded(t *testing.T) {
	all, _ := busyMachine{rand.New(rand.NewPCG(1, 18)), 1.5, 0.03, 0.06}.run(1)
	for metric, gate := range map[string]string{MetricWork: "work>=1.01", MetricCPU: "cpu<=0.99"} {
		c, alone := Turns(all, metric, plain, tuned), Turns(without(all, record.RoleControl), metric, plain, tuned)
		if c.NoiseFloor == nil || !strings.Contains(c.Noise, "processes of plain") || *c.Interval != *widen(alone.Interval, c.NoiseFloor) || alone.Noise != "" {
			t.Errorf("%s: %+v, alone %+v", metric, c, alone)
		}
		g, err := ParseGate(gate)
		if err != nil {
			t.Fatal(err)
		}
		if out := g.Check(c); out.Verdict != Pass || !strings.Contains(out.Text, "with a noise floor of") {
			t.Errorf("%+v", out)
		}
	}
	if c := Turns(all, MetricWork, plain, control); c.Noise != "" || c.NoiseFloor != nil {
		t.Errorf("the control: %+v", c)
	}
	var visits []record.Slice
	for n := range 6 {
		for range 5 {
			visits = append(visits, workOf(plain, n, n, 1000), workOf(control, n, n, 1100), workOf(tuned, n, n, 1200+float64(n)))
		}
	}
	if c := Turns(visits, MetricWork, plain, tuned); c.Noise != "" || c.Verdict != Faster {
		t.Errorf("fresh processes: %+v", c)
	}
}

package calibration

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// step is a ladder's step that uses all of two cores, with that CPU time of a request in places.
func step(perSecond float64, us map[string]float64) (*diagnose.Diagnosis, *record.Run) {
	c := made("step", rules.CPU, figures{cpu: 2})
	r := c.Subject.Profiled
	r.Totals.ThroughputPerS = perSecond
	p := &record.Profile{Type: record.ValueCPU, Seconds: 2, Requests: 2 * perSecond}
	for function, each := range us {
		frames := []record.Frame{{Function: function}, {Function: "main.handle", File: "/src/main.go", Line: 3}}
		p.Stacks = append(p.Stacks, record.Stack{Frames: frames, Value: each * 1e3 * p.Requests})
	}
	r.FixtureProfiles = []*record.Profile{p}
	d := diagnose.NewSubject("step", []*record.Run{r}).Diagnose(rules.Defaults)
	return &d, r
}

// A step that takes 500 of 2,000 us away, and adds 100 us, brings a third at most; with what it
// adds, a quarter.
func TestStep(t *testing.T) {
	before, was := step(1000, map[string]float64{"encoding/json.Marshal": 500, "crypto/sha256.block": 1500})
	after, is := step(1250, map[string]float64{"strconv.AppendInt": 100, "crypto/sha256.block": 1500})
	f := Step(before, after, was, is, [2]whatif.CPUUse{{PerS: 1000, Target: 2}, {PerS: 1250, Target: 2}})
	if math.Abs(f.Estimate.AtMost-4.0/3) > 1e-6 || math.Abs(f.Estimate.CPU-0.75) > 1e-6 || math.Abs(f.WithNew.AtMost-1.25) > 1e-6 || math.Abs(f.Share-1) > 1e-6 || f.Bound != "the CPU" {
		t.Fatalf("%+v", f)
	}
	f.Work = Ratio{Times: 1.25, Low: 1.2, High: 1.3}
	if mark, by := f.Mark(); mark != Held || math.Abs(by-0.0667) > 0.001 || f.Why() != "" {
		t.Errorf("%s %v %q", mark, by, f.Why())
	}
}

// A step that makes a request cost twice as much brings half, where no CPU is left.
func TestStepThatCostsMore(t *testing.T) {
	before, was := step(1000, map[string]float64{"crypto/sha256.block": 1000})
	after, is := step(500, map[string]float64{"crypto/sha256.block": 2000})
	f := Step(before, after, was, is, [2]whatif.CPUUse{{PerS: 1000, Target: 2}, {PerS: 500, Target: 2}})
	f.Work = Ratio{0.5, 0.45, 0.55}
	if mark, _ := f.Mark(); mark != Replaced || f.Estimate.AtMost != 1 || math.Abs(f.WithNew.AtMost-0.5) > 1e-6 {
		t.Errorf("%s %+v", mark, f)
	}
}

func TestStepOfAnotherProgram(t *testing.T) {
	before, was := step(1000, map[string]float64{"crypto/sha256.block": 1500})
	after, is := step(1000, map[string]float64{"crypto/sha256.block": 1500})
	was.Target.Command, is.Target.Command = []string{"/tmp/a/plain"}, []string{"/tmp/b/notifyd"}
	f := Step(before, after, was, is, [2]whatif.CPUUse{})
	f.Work = Ratio{Times: 2}
	if mark, _ := f.Mark(); mark != Open || !strings.Contains(f.Why(), "another program") {
		t.Errorf("%s %q", mark, f.Why())
	}
}

func TestMarkAndWhy(t *testing.T) {
	estimate := func(atMost float64) whatif.Estimate {
		return whatif.Estimate{Model: whatif.Amdahl, AtMost: atMost, CPU: 1}
	}
	for name, c := range map[string]struct {
		f        Prediction
		mark, in string
	}{
		"within the interval": {Prediction{Estimate: estimate(1.4), Work: Ratio{1.45, 1.35, 1.55}}, Held, ""},
		"above the bound":     {Prediction{Estimate: estimate(1.4), Work: Ratio{1.6, 1.5, 1.7}}, Exceeded, ""},
		"no interval":         {Prediction{Estimate: estimate(1.4), Work: Ratio{Times: 1.6}}, Undecided, "not exact enough"},
		"replaced by as much": {Prediction{Estimate: estimate(2), WithNew: estimate(1.1), CPUDiff: Difference{New: 40, NewIn: "main.f"}, Work: Ratio{1, 0.9, 1.1}}, Replaced,
			"its new code takes 40 us of CPU per request, most of it in main.f: with it at most 1.10x"},
		"less CPU":             {Prediction{Estimate: estimate(2), WithNew: estimate(2), Share: 0.6, Work: Ratio{1, 0.9, 1.1}}, Loose, "it got 0.60x the CPU that it got before, beside the other processes: with that at most 1.20x"},
		"both":                 {Prediction{Estimate: estimate(3), WithNew: estimate(2), Share: 0.5, Work: Ratio{1, 0.9, 1.1}}, Loose, "with both at most 1.00x"},
		"more CPU":             {Prediction{Estimate: estimate(4), WithNew: estimate(4), Share: 1.3, Work: Ratio{5.4, 5, 6}}, Exceeded, "it got 1.30x the CPU that it got before, beside the other processes: with that at most 5.2x"},
		"wide":                 {Prediction{Estimate: estimate(3), Work: Ratio{1, 0.4, 2.5}}, Undecided, "not exact enough"},
		"wide above":           {Prediction{Estimate: estimate(1), Work: Ratio{4.9, 0.8, 30}}, Undecided, "not exact enough"},
		"wide, loose with new": {Prediction{Estimate: estimate(4), WithNew: estimate(2.9), Work: Ratio{1, 0.4, 2.5}}, Undecided, "not exact enough"},
		"a shorter wait":       {Prediction{Estimate: estimate(1), Bound: "a lock", waits: true, Work: Ratio{2, 1.9, 2.1}}, Exceeded, "the step may shorten the wait that bounded, a lock"},
		"another bound":        {Prediction{Estimate: estimate(3), Now: "a lock", moved: true, Work: Ratio{1, 0.9, 1.1}}, Loose, "it is now bound by a lock"},
		"unexplained":          {Prediction{Estimate: estimate(3), Work: Ratio{1, 0.9, 1.1}}, Loose, ""},
		"not measured":         {Prediction{Estimate: estimate(3)}, Open, "was not measured"},
	} {
		if mark, _ := c.f.Mark(); mark != c.mark || !strings.Contains(c.f.Why(), c.in) || c.in == "" && c.f.Why() != "" {
			t.Errorf("%s: %s, %q", name, mark, c.f.Why())
		}
	}
}

func TestCheaper(t *testing.T) {
	f := Prediction{Estimate: whatif.Estimate{CPU: 0.92}, CPU: Ratio{Times: 0.24}}
	if !f.Cheaper() {
		t.Errorf("%+v", f)
	}
	f.CPU.Times = 0.8
	if f.Cheaper() {
		t.Errorf("%+v", f)
	}
}

// Half of the bound gone brings twice as much at most, whatever the kind of wait.
func TestRemedied(t *testing.T) {
	c := locked("ledger", 30)
	d := c.Subject.Diagnose(rules.Defaults)
	f := Remedied(&d, 0.5, whatif.Removal{})
	if d.Bottleneck != rules.Lock || f.Estimate.AtMost != 2 || f.Estimate.Model != whatif.Holder {
		t.Errorf("%s %+v", d.Bottleneck, f.Estimate)
	}
}

package calibration

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// step is a ladder's step that uses all of two cores, with that CPU time of a request in places.
func step(perSecond float64, us map[string]float64) (*diagnose.Diagnosis, *record.Run) {
	c := made("step", rules.CPU, figures{cpu: 2})
	r := c.Subject.Profiled
	r.Totals.AchievedPerS = perSecond
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
	peak := []*record.Slice{{Length: time.Second, Served: 1000, TargetCPU: 2}}
	f := Step(before, after, was, is, [2][]*record.Slice{peak, {{Length: time.Second, Served: 1250, TargetCPU: 2}}})
	if math.Abs(f.Estimate.AtMost-4.0/3) > 1e-6 || math.Abs(f.Estimate.CPU-0.75) > 1e-6 || math.Abs(f.WithNew-1.25) > 1e-6 || f.Bound != "the CPU" {
		t.Fatalf("%+v", f)
	}
	f.Work = Ratio{Times: 1.25, Low: 1.2, High: 1.3}
	if mark, by := f.Mark(); mark != Held || math.Abs(by-0.0667) > 0.001 || f.Why() != "" {
		t.Errorf("%s %v %q", mark, by, f.Why())
	}
}

func TestStepOfAnotherProgram(t *testing.T) {
	before, was := step(1000, map[string]float64{"crypto/sha256.block": 1500})
	after, is := step(1000, map[string]float64{"crypto/sha256.block": 1500})
	was.Target.Command, is.Target.Command = []string{"/tmp/a/plain"}, []string{"/tmp/b/notifyd"}
	f := Step(before, after, was, is, [2][]*record.Slice{})
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
		f        Foresight
		mark, in string
	}{
		"within the interval": {Foresight{Estimate: estimate(1.4), Work: Ratio{1.45, 1.35, 1.55}}, Held, ""},
		"above the bound":     {Foresight{Estimate: estimate(1.4), Work: Ratio{1.6, 1.5, 1.7}}, Exceeded, ""},
		"no interval":         {Foresight{Estimate: estimate(1.4), Work: Ratio{Times: 1.6}}, Held, ""},
		"replaced by as much": {Foresight{Estimate: estimate(2), WithNew: 1.1, CPUDiff: whatif.Difference{New: 40, NewIn: "main.f"}, Work: Ratio{1, 0.9, 1.1}}, Loose,
			"its new code takes 40 us of CPU per request, most of it in main.f: with it at most 1.10x"},
		"beside others":  {Foresight{Estimate: estimate(3), WithNew: 3, WithOthers: 1.2, Others: 0.6, Work: Ratio{1, 0.9, 1.1}}, Loose, "other processes took 60% of the machine: on the rest at most 1.20x"},
		"both":           {Foresight{Estimate: estimate(3), WithNew: 2, WithOthers: 1.5, WithBoth: 1, Others: 0.6, Work: Ratio{1, 0.9, 1.1}}, Loose, "with both at most 1.00x"},
		"below the peak": {Foresight{Estimate: estimate(3), CPUDiff: whatif.Difference{Before: 100, After: 250}, AtPeak: [2]float64{100, 80}, Work: Ratio{5, 4, 6}}, Exceeded, "the profile after the change does not show the peak: 250 us"},
		"a shorter wait": {Foresight{Estimate: estimate(1), Bound: "a lock", waits: true, Work: Ratio{2, 1.9, 2.1}}, Exceeded, "the step may shorten the wait that bounded, a lock"},
		"another bound":  {Foresight{Estimate: estimate(3), Now: "a lock", moved: true, Work: Ratio{1, 0.9, 1.1}}, Loose, "it is now bound by a lock"},
		"unexplained":    {Foresight{Estimate: estimate(3), Work: Ratio{1, 0.9, 1.1}}, Loose, ""},
		"not measured":   {Foresight{Estimate: estimate(3)}, Open, "was not measured"},
	} {
		if mark, _ := c.f.Mark(); mark != c.mark || !strings.Contains(c.f.Why(), c.in) || c.in == "" && c.f.Why() != "" {
			t.Errorf("%s: %s, %q", name, mark, c.f.Why())
		}
	}
}

func TestCheaper(t *testing.T) {
	f := Foresight{Estimate: whatif.Estimate{CPU: 0.92}, CPU: Ratio{Times: 0.24}, CPUDiff: whatif.Difference{Before: 264, After: 253}, AtPeak: [2]float64{300, 82}}
	if why := f.Cheaper(); !strings.Contains(why, "CPU per request fell to 0.24x, below 0.92x; the profile after the change does not show the peak: 253 us") {
		t.Errorf("%q", why)
	}
	f.CPU.Times = 0.8
	if why := f.Cheaper(); why != "" {
		t.Errorf("%q", why)
	}
}

// Half of the bound gone brings twice as much at most, whatever the kind of wait.
func TestRemedied(t *testing.T) {
	c := locked("ledger", 30)
	d := c.Subject.Diagnose(rules.Defaults)
	f := Remedied(&d, 0.5, whatif.Removal{}, nil)
	if d.Bound != rules.Lock || f.Estimate.AtMost != 2 || f.Estimate.Model != whatif.Holder {
		t.Errorf("%s %+v", d.Bound, f.Estimate)
	}
}

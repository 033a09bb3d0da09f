package calibration

import (
	"cmp"
	"fmt"
	"path/filepath"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Ratio is a measured ratio with its 95% interval; both ends 0: none.
type Ratio struct {
	Times float64 `json:"times"` // 0: not measured
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// Prediction is what was estimated from the record before a change, and what the change brought.
type Prediction struct {
	Step     string          `json:"step"`
	Change   string          `json:"change"`
	Bound    string          `json:"bound"` // before the change, in words
	Estimate whatif.Estimate `json:"estimate"`
	Removes  whatif.Removal  `json:"-"`
	CPUDiff  Difference      `json:"cpu_us"` // by the profiles; zero: not compared
	// WithNew is the estimate with the CPU time of the code that the change added; zero: not
	// compared.
	WithNew whatif.Estimate `json:"with_new_code"`
	// CPU that the service, its generator and its dependencies got, after over before, if none was
	// left before; otherwise 0. The model does not predict what other processes leave.
	Share float64 `json:"cpu_share"`
	Work  Ratio   `json:"work"` // peak work rate or capacity, after over before
	CPU   Ratio   `json:"cpu"`  // CPU per request
	Now   string  `json:"bound_after,omitempty"`
	moved bool    // another bound than before
	waits bool    // the bound before is a wait or a lock
}

// Marks of an estimate against what was measured.
const (
	Held      = "held"          // it is within 25% of the measured ratio
	Replaced  = "held with new" // the same with the CPU time of the code that came instead
	Loose     = "loose"         // it is further above
	Exceeded  = "exceeded"      // more was measured
	Undecided = "not decided"   // the measured ratio is not exact enough for any of these
	Open      = "-"             // there is no estimate, or no measured ratio
)

const (
	// off is the distance that must be explained.
	off = 0.25
	// wide is how many times its lower end the upper end of an interval may be for an estimate
	// within it to be held.
	wide = 4
)

// Mark judges the estimate, and says how far it is from the measured ratio: above 0 if it is
// higher.
func (f Prediction) Mark() (mark string, by float64) {
	atMost, withNew, measured := f.Estimate.AtMost, f.WithNew.AtMost, f.Work
	if atMost <= 0 || measured.Times <= 0 {
		return Open, 0
	}
	by = atMost/measured.Times - 1
	above := measured.High * (1 + off)
	switch {
	case measured.Low <= 0:
		return Undecided, by
	case measured.Low > atMost:
		return Exceeded, by
	case atMost > above && (withNew <= 0 || withNew > above):
		return Loose, by
	case measured.High > wide*measured.Low:
		return Undecided, by
	case measured.near(atMost):
		return Held, by
	case measured.near(withNew):
		return Replaced, withNew/measured.Times - 1
	}
	return Undecided, by
}

// near reports whether an estimate is within 25% of what was measured.
func (r Ratio) near(v float64) bool { return v > 0 && max(v/r.Times, r.Times/v)-1 <= off }

// Why explains a mark other than Held; empty: the record does not show it.
func (f Prediction) Why() string {
	mark, _ := f.Mark()
	withNew, measured := f.WithNew.AtMost, f.Work
	instead := fmt.Sprintf("its new code takes %.3g us of CPU per request, most of it in %s: with it at most %s", f.CPUDiff.New, f.CPUDiff.NewIn, whatif.Times(withNew))
	switch {
	case mark == Held:
		return ""
	case mark == Open && f.Estimate.Missing != "":
		return "no estimate, since this is missing: " + f.Estimate.Missing
	case mark == Open:
		return "what it brings was not measured"
	case mark == Undecided:
		return "the measured ratio is not exact enough"
	case mark == Replaced:
		return instead
	case f.Share > 0 && measured.near(f.Estimate.AtMost*f.Share):
		return fmt.Sprintf("it got %s the CPU that it got before, beside the other processes: with that at most %s", whatif.Times(f.Share), whatif.Times(f.Estimate.AtMost*f.Share))
	case f.Share > 0 && measured.near(f.WithNew.AtMost*f.Share):
		return fmt.Sprintf("%s; it got %s the CPU that it got before, beside the other processes: with both at most %s", instead, whatif.Times(f.Share), whatif.Times(f.WithNew.AtMost*f.Share))
	case mark == Exceeded && f.waits:
		return "the step may shorten the wait that bounded, " + f.Bound + ", which the number of these waits per request does not show"
	case mark == Loose && f.moved:
		return "it is now bound by " + f.Now + ", which was no limit before"
	}
	return ""
}

// Cheaper reports whether the CPU per request fell by a quarter more than by what went.
func (f Prediction) Cheaper() bool {
	return f.Estimate.CPU > 0 && f.CPU.Times > 0 && f.CPU.Times < f.Estimate.CPU/(1+off)
}

// Step estimates what a ladder's step can bring, from the diagnosis of the step before it and what
// the step took away by the profiles of both; peaks are their loads of peak work (zero: not
// measured, so that the profiles say what a request costs). The caller adds what was measured.
func Step(before, after *diagnose.Diagnosis, was, is *record.Run, peaks [2]whatif.CPUUse) Prediction {
	f := Prediction{Bound: before.BottleneckText(), Now: after.BottleneckText(), moved: before.Bottleneck != after.Bottleneck || before.Kind != after.Kind,
		waits: before.Bottleneck == rules.Wait || before.Bottleneck == rules.Lock}
	another := len(was.Target.Command) > 0 && len(is.Target.Command) > 0 && filepath.Base(was.Target.Command[0]) != filepath.Base(is.Target.Command[0])
	profiled := [2]*record.Run{was, is}
	if another { // its places have other names
		profiled = [2]*record.Run{{}, {}}
	}
	diff, ok := Compare(profiled[0], profiled[1], [2]float64{peaks[0].Micros(), peaks[1].Micros()})
	r := diff.Removal()
	switch {
	case !ok && another:
		r = whatif.Removal{Missing: "code in common: it is another program"}
	case !ok:
		r = whatif.Removal{Missing: "a CPU profile of both steps"}
	}
	f.CPUDiff = diff
	waits(&r, before, after, was, is)
	if a, b := peaks[0], peaks[1]; a.PerS > 0 && b.PerS > 0 {
		r.Others = max(0, a.Others-b.Others*a.PerS/b.PerS)
		if before.Facts().CPU.UsedUp() {
			f.Share = (b.Target + b.Others) / (a.Target + a.Others)
		}
	}
	f.estimate(before, r)
	if r.Missing == "" {
		r.CPU = max(0, diff.Gone-diff.New) / diff.Before
		f.WithNew = before.Facts().Without(r)
		if diff.After > diff.Before && before.Facts().CPU.UsedUp() { // it costs more than before
			f.WithNew.AtMost *= diff.Before / diff.After
		}
	}
	return f
}

func (f *Prediction) estimate(before *diagnose.Diagnosis, r whatif.Removal) {
	f.Removes, f.Estimate = r, before.Facts().Without(r)
}

// waits adds the wait that bounds the step before, as far as the step ends it: in proportion to the
// number of these waits for each request, or of the workers that wait.
func waits(r *whatif.Removal, before, after *diagnose.Diagnosis, was, is *record.Run) {
	kind := before.Kind
	switch {
	case before.Bottleneck == rules.Lock && before.Kind != rules.Spun:
		kind = string(stacks.WaitLock)
	case before.Bottleneck != rules.Wait:
		return
	}
	part := 0.0
	if a, b := perRequest(was, kind), perRequest(is, kind); a > 0 && b >= 0 {
		part = 1 - b/a
		if whatif.Computed(kind) { // each of those that stay may be shorter by what went
			part = 1 - b/a*(1-r.CPU)
		}
	}
	if n, more := before.Signals[rules.Workers], after.Signals[rules.Workers]; n > 0 && more > n {
		part = max(part, 1-n/more)
	}
	const noticeable = 0.1
	if part > noticeable {
		r.Waits, r.Part = []string{kind}, part
	}
}

// perRequest is how many times a request waits in that way, or what works for it; below 0: unknown.
func perRequest(r *record.Run, kind string) float64 {
	t, err := stacks.Trace(r)
	if err != nil || t.Requests <= 0 {
		return -1
	}
	n := int64(0)
	for _, w := range t.Waits {
		if string(stacks.What(w)) == kind {
			n += w.Count
		}
	}
	return float64(n) / t.Requests
}

// Remedied estimates what a change of known effect can bring: part of what a request demands of the
// bound goes, and so does what the given removal takes.
func Remedied(before *diagnose.Diagnosis, part float64, r whatif.Removal) Prediction {
	if part > 0 {
		r.Part, r.Waits = part, []string{cmp.Or(before.Kind, string(before.Bottleneck))}
		if before.Bottleneck == rules.Lock {
			r.Waits = []string{string(stacks.WaitLock)}
		}
	}
	f := Prediction{Bound: before.BottleneckText()}
	f.estimate(before, r)
	return f
}

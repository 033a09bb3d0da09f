package calibration

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Ratio is a measured ratio with its interval; both ends 0: none.
type Ratio struct {
	Times float64 `json:"times"` // 0: not measured
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// Foresight is what was reckoned from the record before a change, beside what the change brought.
type Foresight struct {
	Step     string            `json:"step"`
	Change   string            `json:"change"`
	Bound    string            `json:"bound"` // before the change, in words
	Estimate whatif.Estimate   `json:"estimate"`
	Removes  whatif.Removal    `json:"-"`
	CPUDiff  whatif.Difference `json:"cpu_us"` // by the profiles; zero: not compared
	// The estimate with the CPU time of the code that the change added, on what other processes left
	// of the machine, and with both; 0: unknown.
	WithNew    float64 `json:"at_most_with_new_code,omitempty"`
	WithOthers float64 `json:"at_most_beside_others,omitempty"`
	WithBoth   float64 `json:"at_most_with_both,omitempty"`
	Others     float64 `json:"others"` // share of the machine that other processes took
	// CPU per request before and after in the slices of peak work, in us; 0: unknown. The profiles
	// may have been taken far below the peak.
	AtPeak [2]float64 `json:"cpu_us_at_peak"`
	Work   Ratio      `json:"work"` // peak work rate, after over before
	CPU    Ratio      `json:"cpu"`  // CPU per request
	Now    string     `json:"bound_after,omitempty"`
	moved  bool       // another bound than before
	waits  bool       // the bound before is a wait or a lock
}

// Marks of an estimate against what was measured.
const (
	Held     = "held"     // the bound holds, and is at most 25% above the measured ratio
	Loose    = "loose"    // it holds, further above
	Exceeded = "exceeded" // more was measured
	Open     = "-"        // there is no estimate, or no measured ratio
)

// off is the distance that must be explained.
const off = 0.25

// Mark judges the estimate, and says how far it is from the measured ratio: above 0 if it is
// higher.
func (f Foresight) Mark() (mark string, by float64) {
	if f.Estimate.AtMost <= 0 || f.Work.Times <= 0 {
		return Open, 0
	}
	by = f.Estimate.AtMost/f.Work.Times - 1
	low := f.Work.Times / (1 + off)
	if f.Work.Low > 0 {
		low = f.Work.Low
	}
	switch {
	case low > f.Estimate.AtMost:
		return Exceeded, by
	case by > off:
		return Loose, by
	}
	return Held, by
}

// Why explains a mark other than Held; empty: the record does not show it.
func (f Foresight) Why() string {
	mark, _ := f.Mark()
	within := func(atMost float64) bool { return atMost > 0 && max(atMost/f.Work.Times, f.Work.Times/atMost)-1 <= off }
	switch {
	case mark == Open && f.Estimate.Missing != "":
		return "no estimate, since this is missing: " + f.Estimate.Missing
	case mark == Open:
		return "what it brings was not measured"
	case mark == Loose && within(f.WithNew):
		return fmt.Sprintf("its new code takes %.3g us of CPU per request, most of it in %s: with it at most %s", f.CPUDiff.New, f.CPUDiff.NewIn, whatif.Times(f.WithNew))
	case mark == Loose && within(f.WithOthers):
		return fmt.Sprintf("other processes took %.0f%% of the machine: on the rest at most %s", 100*f.Others, whatif.Times(f.WithOthers))
	case mark == Loose && within(f.WithBoth):
		return fmt.Sprintf("other processes took %.0f%% of the machine, and the new code takes %.3g us of CPU per request, most of it in %s: with both at most %s",
			100*f.Others, f.CPUDiff.New, f.CPUDiff.NewIn, whatif.Times(f.WithBoth))
	case mark == Exceeded && f.waits && len(f.Removes.Waits) == 0:
		return "the step may shorten the wait that bounded, " + f.Bound + ", which the number of these waits per request does not show"
	case f.below(0) != "":
		return f.below(0)
	case f.below(1) != "":
		return f.below(1)
	case mark == Loose && f.moved:
		return "it is now bound by " + f.Now + ", which was no limit before"
	}
	return ""
}

// Cheaper explains a CPU per request that fell by a quarter more than by what went; empty: it did
// not.
func (f Foresight) Cheaper() string {
	if f.Estimate.CPU <= 0 || f.CPU.Times <= 0 || f.CPU.Times >= f.Estimate.CPU/(1+off) {
		return ""
	}
	return fmt.Sprintf("CPU per request fell to %.2fx, below %.2fx; %s", f.CPU.Times, f.Estimate.CPU, cmp.Or(f.below(0), f.below(1), "not explained by the record"))
}

// below says how a profile differs from the peak, before the change (0) or after it (1); empty: by
// less than what must be explained.
func (f Foresight) below(side int) string {
	profiled, peak := [2]float64{f.CPUDiff.Before, f.CPUDiff.After}[side], f.AtPeak[side]
	if profiled <= 0 || peak <= 0 || max(profiled/peak, peak/profiled) <= 1+off {
		return ""
	}
	return fmt.Sprintf("the profile %s the change does not show the peak: %.3g us of CPU per request there, %.3g us at the peak", [2]string{"before", "after"}[side], profiled, peak)
}

// Step reckons what a ladder's step can bring, from the diagnosis of the step before it and what
// the step took away by the profiles of both; peaks are the slices of peak work of both. The caller
// adds what was measured.
func Step(before, after *diagnose.Diagnosis, was, is *record.Run, peaks [2][]*record.Slice) Foresight {
	f := Foresight{AtPeak: [2]float64{cost(peaks[0]), cost(peaks[1])}, Bound: before.BoundWords(), Now: after.BoundWords(), moved: before.Bound != after.Bound || before.Kind != after.Kind,
		waits: before.Bound == rules.Wait || before.Bound == rules.Lock}
	diff, ok := whatif.Compare(was, is)
	r := diff.Removal()
	switch {
	case !ok:
		r = whatif.Removal{Missing: "a CPU profile of both steps"}
	case len(was.Target.Command) > 0 && len(is.Target.Command) > 0 && filepath.Base(was.Target.Command[0]) != filepath.Base(is.Target.Command[0]):
		r = whatif.Removal{Missing: "code in common: it is another program"}
	}
	f.CPUDiff = diff
	waits(&r, before, after, was, is)
	r.Beside = freed(was, is)
	f.reckon(before, r, peaks[0])
	return f
}

// reckon sets the estimates.
func (f *Foresight) reckon(before *diagnose.Diagnosis, r whatif.Removal, peak []*record.Slice) {
	facts := before.Facts()
	f.Removes, f.Estimate = r, facts.Without(r)
	if f.Estimate.Missing != "" {
		return
	}
	with := r
	if f.CPUDiff.Before > 0 {
		with.CPU = max(0, f.CPUDiff.Gone-f.CPUDiff.New) / f.CPUDiff.Before
		f.WithNew = facts.Without(with).AtMost
	}
	f.Others = others(peak)
	facts.CPU.Machine *= 1 - f.Others
	f.WithOthers, f.WithBoth = facts.Without(r).AtMost, facts.Without(with).AtMost
}

// cost is the CPU per request in slices, in us; 0: unknown.
func cost(peak []*record.Slice) float64 {
	cpu, served := 0.0, int64(0)
	for _, s := range peak {
		cpu, served = cpu+s.TargetCPU, served+s.Served
	}
	return cpu * 1e6 / float64(max(served, 1))
}

// others is the share of the machine that other processes and the hypervisor took during slices.
func others(peak []*record.Slice) float64 {
	sum := 0.0
	for _, s := range peak {
		sum += s.Others + s.Steal
	}
	return sum / float64(max(1, len(peak)))
}

// waits adds the wait that bounds the step before, as far as the step ends it: in proportion to the
// number of these waits for each request, or of the workers that wait.
func waits(r *whatif.Removal, before, after *diagnose.Diagnosis, was, is *record.Run) {
	kind := before.Kind
	switch {
	case before.Bound == rules.Lock && before.Kind != rules.Spun:
		kind = string(stacks.WaitLock)
	case before.Bound != rules.Wait:
		return
	}
	part := 0.0
	if a, b := perRequest(was, kind), perRequest(is, kind); a > 0 {
		part = 1 - b/a
	}
	if n, more := before.Signals[rules.Workers], after.Signals[rules.Workers]; n > 0 && more > n {
		part = max(part, 1-n/more)
	}
	const noticeable = 0.1
	if part > noticeable {
		r.Waits, r.Part = []string{kind}, part
	}
}

// perRequest is how many times a request waits in that way, or what works for it; 0: unknown.
func perRequest(r *record.Run, kind string) float64 {
	t, err := stacks.Trace(r)
	if err != nil || t.Requests <= 0 {
		return 0
	}
	n := int64(0)
	for _, w := range t.Waits {
		if string(stacks.What(w)) == kind {
			n += w.Count
		}
	}
	return float64(n) / t.Requests
}

// freed is how many cores the load generator and the companions no longer need for the throughput
// of the step before.
func freed(was, is *record.Run) float64 {
	a, b := whatif.CPUOf(was, 0).Beside, whatif.CPUOf(is, 0).Beside
	x, y := facts.PerSecond(was), facts.PerSecond(is)
	if x <= 0 || y <= 0 {
		return 0
	}
	return math.Max(0, a-b*x/y)
}

// Remedied reckons what a change of known effect can bring: part of what a request demands of the
// bound goes, and the given removal beside it.
func Remedied(before *diagnose.Diagnosis, part float64, r whatif.Removal, peak []*record.Slice) Foresight {
	if part > 0 {
		r.Part, r.Waits = part, []string{cmp.Or(before.Kind, string(before.Bound))}
		if before.Bound == rules.Lock {
			r.Waits = []string{string(stacks.WaitLock)}
		}
	}
	f := Foresight{Bound: before.BoundWords()}
	f.reckon(before, r, peak)
	return f
}

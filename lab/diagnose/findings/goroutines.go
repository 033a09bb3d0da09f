package findings

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// goroutineLeak finds goroutines that become more under a load that stays the same: by the series of the
// runs, and by the stack whose count grew between two profiles. A stack that grew while the number of all
// goroutines did not is a fluctuation; a number that grew where no profile was taken is a leak without a
// place.
func goroutineLeak(l *look) []Finding {
	looked, grew := 0, 0
	most := [2]float64{}
	runs := l.counted
	if l.Profiled != nil {
		runs = append(slices.Clone(runs), l.Profiled)
	}
	for _, r := range runs {
		from, to, enough := goroutinesOver(r)
		if !steady(r) || !enough {
			continue
		}
		looked++
		if to-from >= leakGoroutines && to-from >= leakGrowth*from {
			grew++
			if to-from > most[1]-most[0] {
				most = [2]float64{from, to}
			}
		}
	}
	bySeries := 2*grew > looked
	stack, from, to := l.growingStack(bySeries)
	byStack := to-from >= leakGoroutines && to-from >= leakGrowth*from && to-from > 3*math.Sqrt(to+from)
	// Two moments alone show a leak only beyond what comes and goes with the requests in flight.
	if !bySeries && (looked > 0 || !byStack || to-from <= facts.InFlight(l.Profiled)) {
		return nil
	}
	f := Finding{Kind: KindGoroutines, worth: 1,
		Next: "build with GOEXPERIMENT=goroutineleakprofile (Go 1.26) and fetch /debug/pprof/goroutineleak; see whether the number falls when the load stops"}
	if bySeries {
		f.InWords = fmt.Sprintf("Goroutines become more under a constant load: from %.0f to %.0f within a run (in %d of %d runs).", most[0], most[1], grew, looked)
		f.Evidence = append(f.Evidence, Evidence{"goroutine_growth", math.Round(most[1] - most[0]), "goroutines", "within one run"})
	} else {
		f.InWords = "Goroutines become more under a constant load."
	}
	if byStack {
		f.Profile = record.ProfileGoroutine
		f.Where = places([]record.Stack{{Frames: stack, Value: 1}})
		f.InWords += fmt.Sprintf(" Those that stand%s were %.0f, then %.0f.", in(f.Where), from, to)
		f.Evidence = append(f.Evidence, Evidence{"stack_growth", to - from, "goroutines", "with one and the same stack, between two profiles"})
	}
	return []Finding{f}
}

// goroutinesOver is the mean number of goroutines in the first and the last third of a run, if it rose from
// third to third; else both are that of the first.
func goroutinesOver(r *record.Run) (from, to float64, enough bool) {
	var counts []float64
	for _, w := range r.Series {
		if (w.Phase == record.PhaseMeasure || w.Phase == record.PhaseProfile) && w.Server != nil && w.Server.Goroutines > 0 {
			counts = append(counts, float64(w.Server.Goroutines))
		}
	}
	if len(counts) < leastWindows {
		return 0, 0, false
	}
	var thirds [3]float64
	for i := range thirds {
		part := counts[len(counts)*i/3 : len(counts)*(i+1)/3]
		for _, n := range part {
			thirds[i] += n / float64(len(part))
		}
	}
	if thirds[0] < thirds[1] && thirds[1] < thirds[2] {
		return thirds[0], thirds[2], true
	}
	return thirds[0], thirds[0], true
}

// growingStack is the stack of which most goroutines came between the two profiles, with its counts. Those
// that wait for a request, or look into the process, are left out, and unless asked for those that handle
// one: how many of them are at the same point at a moment is chance.
func (l *look) growingStack(handlers bool) (frames []record.Frame, from, to float64) {
	if l.Profiled == nil {
		return nil, 0, 0
	}
	before, err := l.Profiled.Profile(record.ProfileGoroStart, record.ValueGoroutines)
	if err != nil {
		return nil, 0, 0
	}
	after, err := l.Profiled.Profile(record.ProfileGoroutine, record.ValueGoroutines)
	if err != nil {
		return nil, 0, 0
	}
	had, has := byStack(before), byStack(after)
	for _, key := range slices.Sorted(maps.Keys(has)) {
		if s := has[key]; s.Value-had[key].Value > to-from && (handlers || !stacks.InRequest(s.Frames)) {
			frames, from, to = s.Frames, had[key].Value, s.Value
		}
	}
	return frames, from, to
}

func byStack(p *record.Profile) map[string]record.Stack {
	out := map[string]record.Stack{}
	for _, s := range p.Stacks {
		if stacks.What(record.Wait{Stack: s.Frames}) == stacks.WaitIdle {
			continue
		}
		key := ""
		for _, f := range s.Frames {
			key += fmt.Sprintf("%s:%d;", f.Function, f.Line)
		}
		s.Value += out[key].Value
		out[key] = s
	}
	return out
}

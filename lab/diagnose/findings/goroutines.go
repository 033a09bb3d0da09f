package findings

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// goroutineLeak finds goroutines whose number grows under a constant load: by the series of the
// runs, and by the stacks whose counts grew between two profiles. A stack that grew while the total
// did not is a fluctuation; a total that grew without profiles is a leak without a place.
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
	growing := l.growingStacks(bySeries)
	// Two profiles alone show a leak only above the fluctuation of the requests in flight.
	if !bySeries && (looked > 0 || len(growing) == 0 || growing[0].by() <= facts.InFlight(l.Profiled)) {
		return nil
	}
	f := Finding{Kind: KindGoroutines, worth: 1,
		Next: "build with GOEXPERIMENT=goroutineleakprofile (Go 1.26) and fetch /debug/pprof/goroutineleak; see whether the number falls when the load stops"}
	if bySeries {
		f.InWords = fmt.Sprintf("The number of goroutines grows under a constant load: from %.0f to %.0f within a run (in %d of %d runs).", most[0], most[1], grew, looked)
		f.Evidence = append(f.Evidence, Evidence{"goroutine_growth", math.Round(most[1] - most[0]), "goroutines", "within one run"})
	} else {
		f.InWords = "The number of goroutines grows under a constant load."
	}
	if len(growing) > 0 {
		f.Profile = record.ProfileGoroutine
		var all []record.Stack
		var words []string
		for _, g := range growing {
			of := []record.Stack{{Frames: g.frames, Value: g.by()}}
			all = append(all, of...)
			words = append(words, fmt.Sprintf("there were %.0f%s, then %.0f", g.from, in(places(of)), g.to))
		}
		f.Where = places(all)
		f.InWords += " T" + strings.Join(words, "; ")[1:] + "." // as a sentence of its own
		f.Evidence = append(f.Evidence, Evidence{"stack_growth", growing[0].by(), "goroutines", "with the same stack, between two profiles"})
	}
	return []Finding{f}
}

// goroutinesOver is the mean number of goroutines in the first and the last third of a run, if it
// rose from third to third; otherwise both values are that of the first.
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

// growth is the number of goroutines with the same stack at two moments.
type growth struct {
	frames   []record.Frame
	from, to float64
}

func (g growth) by() float64 { return g.to - g.from }

// leaks reports whether the growth exceeds normal fluctuation.
func (g growth) leaks() bool {
	return g.by() >= leakGoroutines && g.by() >= leakGrowth*g.from && g.by() > 3*math.Sqrt(g.to+g.from)
}

// growingStacks returns the stacks that grew between the two profiles, the largest growth first,
// without those that grew little in comparison. Goroutines that wait for a request or profile the
// process are left out, as are, unless handlers is set, those that handle one: their number at one
// point at a moment is chance.
func (l *look) growingStacks(handlers bool) (out []growth) {
	if l.Profiled == nil {
		return nil
	}
	before, err := l.Profiled.Profile(record.ProfileGoroStart, record.ValueGoroutines)
	if err != nil {
		return nil
	}
	after, err := l.Profiled.Profile(record.ProfileGoroutine, record.ValueGoroutines)
	if err != nil {
		return nil
	}
	had, has := byStack(before), byStack(after)
	for _, key := range slices.Sorted(maps.Keys(has)) {
		g := growth{has[key].Frames, had[key].Value, has[key].Value}
		if g.leaks() && (handlers || !stacks.InRequest(g.frames)) {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b growth) int { return cmp.Compare(b.by(), a.by()) })
	out = slices.DeleteFunc(out, func(g growth) bool { return g.by() < leakBeside*out[0].by() })
	return out[:min(mostPlaces, len(out))]
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

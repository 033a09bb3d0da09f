package findings

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// goroutineLeak finds goroutines whose number grows under a constant load: by the series of the
// runs, and by the stacks whose counts grew between two profiles. A stack that grew while the total
// did not is a fluctuation; a total that grew without profiles is a leak without a place. Goroutines
// that are gone once the load has ended did not leak: requests started them and waited for them.
func goroutineLeak(l *figures) []Finding {
	looked, grew := 0, 0
	most := [2]float64{}
	runs := l.counted
	if l.Profiled != nil {
		runs = append(slices.Clone(runs), l.Profiled)
	}
	for _, r := range runs {
		from, to, enough := facts.Goroutines(r)
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
	bySeries := 2*grew > looked && l.remain(most[1]-most[0])
	growing := l.growingStacks(bySeries)
	// Two profiles alone show a leak only above the fluctuation of the requests in flight.
	if !bySeries && (looked > 0 || len(growing) == 0 || growing[0].By() <= facts.InFlight(l.Profiled)) {
		return nil
	}
	f := Finding{Kind: KindGoroutines, worth: 1,
		Next: "build with GOEXPERIMENT=goroutineleakprofile (Go 1.26) and fetch /debug/pprof/goroutineleak; see whether the number falls when the load stops"}
	if bySeries {
		f.Text = fmt.Sprintf("The number of goroutines grows under a constant load: from %.0f to %.0f within a run (in %d of %d runs).", most[0], most[1], grew, looked)
		f.Evidence = append(f.Evidence, Evidence{"goroutine_growth", math.Round(most[1] - most[0]), "goroutines", "within one run"})
	} else {
		f.Text = "The number of goroutines grows under a constant load."
	}
	if len(growing) > 0 {
		f.Profile = record.ProfileGoroutine
		var all []record.Stack
		var texts []string
		for _, g := range growing {
			of := []record.Stack{{Frames: g.Frames, Value: g.By()}}
			all = append(all, of...)
			texts = append(texts, fmt.Sprintf("there were %.0f%s, then %.0f", g.From, in(stacks.Sites(of)), g.To))
		}
		f.Sites = stacks.Sites(all)
		f.Text += " T" + strings.Join(texts, "; ")[1:] + "." // the first begins with "there": here it begins a sentence
		f.Evidence = append(f.Evidence, Evidence{"stack_growth", growing[0].By(), "goroutines", "with the same stack, between two profiles"})
	}
	return []Finding{f}
}

// leaks reports whether a growth exceeds normal fluctuation.
func leaks(g stacks.Growth) bool {
	return g.By() >= leakGoroutines && g.By() >= leakGrowth*g.From && g.By() > 3*math.Sqrt(g.To+g.From)
}

// growingStacks returns the stacks whose number of goroutines grew between the two profiles, the
// largest growth first, without those that grew by less than leakShare of the largest. Unless
// handlers is set, it leaves out goroutines that handle a request: how many of them are at one
// place at a given moment is chance.
func (l *figures) growingStacks(handlers bool) []stacks.Growth {
	before, after, ok := l.pair(record.ProfileGoroStart, record.ProfileGoroutine, record.ValueGoroutines)
	if !ok {
		return nil
	}
	left := l.left()
	out := slices.DeleteFunc(stacks.Growing(before, after), func(g stacks.Growth) bool {
		return !leaks(g) || !handlers && stacks.InRequest(g.Frames) || left != nil && stacks.CountOf(left, g.Frames) < leftOver*g.By()
	})
	out = slices.DeleteFunc(out, func(g stacks.Growth) bool { return g.By() < leakShare*out[0].By() })
	return out[:min(stacks.MaxSites, len(out))]
}

// left is the profile of the goroutines that were left when the load had ended; nil: there is none.
func (l *figures) left() *record.Profile {
	if l.Profiled == nil {
		return nil
	}
	p, err := l.Profiled.Profile(record.ProfileGoroLeft, record.ValueGoroutines)
	if err != nil {
		return nil
	}
	return p
}

// remain reports whether a growth was still there when the load had ended, or that was not seen.
func (l *figures) remain(growth float64) bool {
	left := l.left()
	before, _, ok := l.pair(record.ProfileGoroStart, record.ProfileGoroutine, record.ValueGoroutines)
	return left == nil || !ok || stacks.Count(left) >= stacks.Count(before)+leftOver*growth
}

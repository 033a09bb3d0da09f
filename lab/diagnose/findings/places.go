package findings

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// mostPlaces is how many places a finding names.
const mostPlaces = 5

// places returns the places of these stacks, as shares of their sum.
func places(of []record.Stack) []Place { return Places(of, sum(of)) }

// Places sums the stacks per function of the service's own, as shares of a whole, largest first. A
// stack below no such function counts in the whole, but for no place.
func Places(of []record.Stack, whole float64) []Place {
	if whole <= 0 {
		return nil
	}
	index := map[string]int{}
	var out []Place
	for _, s := range of {
		f, ok := stacks.UserFrame(s.Frames)
		if !ok {
			continue
		}
		i, known := index[f.Function]
		if !known {
			i = len(out)
			index[f.Function] = i
			out = append(out, Place{Function: f.Function, File: f.File, Line: f.Line})
		}
		out[i].Share += s.Value / whole
	}
	const mentionable = 0.005 // a smaller share would print as 0%
	out = slices.DeleteFunc(out, func(p Place) bool { return p.Share < mentionable })
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(b.Share, a.Share) })
	return out[:min(mostPlaces, len(out))]
}

// Half is the deepest function of the service's own with half of a whole below it: the place of a
// cost that no single function dominates.
func Half(of []record.Stack, whole float64) (Place, bool) {
	type sum struct {
		place        Place
		value, depth float64
	}
	sums := map[string]*sum{}
	for _, s := range of {
		seen := map[string]bool{}
		for i, f := range s.Frames {
			if seen[f.Function] || !stacks.Own(f) {
				continue
			}
			seen[f.Function] = true
			if sums[f.Function] == nil {
				sums[f.Function] = &sum{place: Place{Function: f.Function, File: f.File, Line: f.Line, Cumulative: true}}
			}
			sums[f.Function].value += s.Value
			sums[f.Function].depth += s.Value * float64(len(s.Frames)-i)
		}
	}
	var best *sum
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		if s.value >= whole/2 && (best == nil || s.depth/s.value > best.depth/best.value) {
			best = s
		}
	}
	if best == nil || whole <= 0 {
		return Place{}, false
	}
	best.place.Share = best.value / whole
	return best.place, true
}

// placesOf returns the places of waits, by their time.
func placesOf(of []record.Wait) []Place {
	var all []record.Stack
	for _, w := range of {
		all = append(all, record.Stack{Frames: w.Stack, Value: w.Seconds})
	}
	return places(all)
}

// callee is the function that the service's own code calls most in these stacks, among those whose
// own code is place; empty: place does the work itself.
func callee(of []record.Stack, place Place) string {
	values := map[string]float64{}
	whole, most := 0.0, ""
	for _, s := range of {
		f, ok := stacks.UserFrame(s.Frames)
		if !ok || f.Function != place.Function {
			continue
		}
		whole += s.Value
		// By place: a function that the compiler made has the name of another in its stack.
		i := slices.IndexFunc(s.Frames, func(o record.Frame) bool { return o.File == f.File && o.Line == f.Line && !stacks.Standard(o.Function) })
		if i <= 0 || strings.HasPrefix(s.Frames[i-1].Function, "runtime.") {
			continue
		}
		called := s.Frames[i-1].Function
		if values[called] += s.Value; values[called] > values[most] {
			most = called
		}
	}
	if values[most] < whole/2 {
		return ""
	}
	return most
}

func sum(of []record.Stack) float64 {
	out := 0.0
	for _, s := range of {
		out += s.Value
	}
	return out
}

// below reports whether one of a stack's frames is one of these functions, or a closure in one; a
// name ending in * matches all names with that prefix.
func below(frames []record.Frame, functions ...string) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool {
		return slices.ContainsFunc(functions, func(name string) bool {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				return strings.HasPrefix(f.Function, prefix)
			}
			return f.Function == name || strings.HasPrefix(f.Function, name+".func")
		})
	})
}

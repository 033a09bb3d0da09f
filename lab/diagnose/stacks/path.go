package stacks

import (
	"cmp"
	"slices"
	"strings"

	"dyno/lab/record"
)

// Path is the functions of the service's own through which a function is reached, the outermost
// first and itself last: those in nearly all of the stacks that have it. Middlewares do not count.
func Path(of []record.Stack, function string) []string {
	const nearly = 0.9
	costs, depths := map[string]float64{}, map[string]float64{}
	whole := 0.0
	for _, s := range of {
		to := slices.IndexFunc(s.Frames, func(f record.Frame) bool { return unwrapped(f).Function == function })
		if to < 0 {
			continue
		}
		whole += s.Value
		seen := map[string]bool{}
		for i, f := range s.Frames[to:] {
			f = unwrapped(f)
			if Own(f) && !seen[f.Function] && !handsOn(s.Frames[:to+i]) {
				seen[f.Function] = true
				costs[f.Function] += s.Value
				depths[f.Function] += s.Value * float64(i)
			}
		}
	}
	var out []string
	for name, cost := range costs {
		if cost >= nearly*whole {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(depths[b]/costs[b], depths[a]/costs[a]), strings.Compare(a, b))
	})
	return out
}

package stacks

import (
	"cmp"
	"maps"
	"slices"

	"dyno/lab/record"
)

// Growth is the number of goroutines with the same stack at two moments.
type Growth struct {
	Frames   []record.Frame
	From, To float64
}

// By is how many more there are at the second moment.
func (g Growth) By() float64 { return g.To - g.From }

// Growing compares two profiles of goroutines by stack, the largest growth first. Goroutines that
// wait for work are left out.
func Growing(before, after *record.Profile) (out []Growth) {
	had, has := byStack(before), byStack(after)
	for _, key := range slices.Sorted(maps.Keys(has)) {
		out = append(out, Growth{has[key].Frames, had[key].Value, has[key].Value})
	}
	slices.SortStableFunc(out, func(a, b Growth) int { return cmp.Compare(b.By(), a.By()) })
	return out
}

func byStack(p *record.Profile) map[string]record.Stack {
	out := map[string]record.Stack{}
	for _, s := range p.Stacks {
		if What(record.Wait{Stack: s.Frames}) == WaitIdle {
			continue
		}
		key := s.Key()
		s.Value += out[key].Value
		out[key] = s
	}
	return out
}

// Count is the number of goroutines in a profile, without those that wait for work.
func Count(p *record.Profile) (n float64) {
	for _, s := range byStack(p) {
		n += s.Value
	}
	return n
}

// CountOf is the number of goroutines in a profile with this stack.
func CountOf(p *record.Profile, frames []record.Frame) float64 {
	return byStack(p)[record.Stack{Frames: frames}.Key()].Value
}

// Grown returns the places whose values rose from before to after, as shares of the total growth.
func Grown(before, after []record.Stack) []Site {
	had := map[string]float64{}
	for _, s := range before {
		if f, ok := UserFrame(s.Frames); ok {
			had[f.Function] += s.Value
		}
	}
	var grew []record.Stack
	for _, s := range after {
		f, ok := UserFrame(s.Frames)
		if !ok {
			continue
		}
		taken := min(had[f.Function], s.Value)
		had[f.Function] -= taken
		if s.Value -= taken; s.Value > 0 {
			grew = append(grew, s)
		}
	}
	return Sites(grew)
}

package stacks

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/record"
)

// Site is a place in the code to which a cost belongs.
type Site struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// of the resource in question: CPU time, allocated bytes, waiting time, growth
	Share float64 `json:"share"`
	// Cumulative means that the share includes callees in the program's own code.
	Cumulative bool `json:"cumulative,omitempty"`
}

// Location is the site's file and, if it is known, line: f.go:12.
func (s Site) Location() string {
	if s.File == "" {
		return "no file known"
	}
	if s.Line == 0 {
		return path.Base(s.File)
	}
	return path.Base(s.File) + ":" + strconv.Itoa(s.Line)
}

// String formats the site: main.f (f.go:12).
func (s Site) String() string {
	if s.File == "" {
		return s.Function
	}
	return fmt.Sprintf("%s (%s)", s.Function, s.Location())
}

// MaxSites is the largest number of sites that are named.
const MaxSites = 5

// Sites returns the sites of these stacks, as shares of their sum.
func Sites(of []record.Stack) []Site { return SitesOf(of, Sum(of)) }

// SitesOf sums the stacks per function of the service's own, as shares of a whole, largest first. A
// stack below no such function counts in the whole, but for no site.
func SitesOf(of []record.Stack, whole float64) []Site {
	if whole <= 0 {
		return nil
	}
	index := map[string]int{}
	var out []Site
	handed := map[string][]record.Stack{} // by the handler of a dependency; each begins at its frame
	for _, s := range of {
		f, at, ok := userFrame(s.Frames)
		if !ok {
			continue
		}
		if at >= 0 {
			handed[f.Function] = append(handed[f.Function], record.Stack{Frames: s.Frames[:at+1], Value: s.Value})
			continue
		}
		i, known := index[f.Function]
		if !known {
			i = len(out)
			index[f.Function] = i
			out = append(out, Site{Function: f.Function, File: f.File, Line: f.Line})
		}
		out[i].Share += s.Value / whole
	}
	for _, handler := range slices.Sorted(maps.Keys(handed)) {
		out = append(out, divided(handed[handler], whole)...)
	}
	const mentionable = 0.005 // a smaller share would print as 0%
	out = slices.DeleteFunc(out, func(p Site) bool { return p.Share < mentionable })
	slices.SortStableFunc(out, func(a, b Site) int { return cmp.Compare(b.Share, a.Share) })
	return out[:min(MaxSites, len(out))]
}

// divided follows a cost from a dependency's handler, the outermost frame of all these stacks, to
// where it divides between several callees, and returns those, each as far down as it stays whole.
// A callee of the standard library ends the way: its caller is the place.
func divided(of []record.Stack, whole float64) (out []Site) {
	const (
		most  = 0.75 // of a function's cost: its callee is the place
		alone = 0.9  // of a callee's cost: what it calls is the place
		worth = 0.1  // of the whole: a callee is a place of its own
	)
	at, of := descend(of, most)
	rest := Sum(of) / whole
	for _, branch := range callees(of) {
		share := Sum(branch) / whole
		if share < worth || library(outermost(branch)) {
			continue
		}
		place, _ := descend(branch, alone)
		place.Share = share
		out = append(out, place)
		rest -= share
	}
	const rounding = 1e-9
	if at.Share = rest; rest > rounding {
		out = append(out, at)
	}
	return out
}

// descend follows a cost from the outermost function of all these stacks to the callee that has
// this share of it, and so on. It returns the last such function, and the stacks below it.
func descend(of []record.Stack, share float64) (Site, []record.Stack) {
	for {
		next := callees(of)
		if len(next) == 0 || Sum(next[0]) < share*Sum(of) || library(outermost(next[0])) {
			f := unwrapped(outermost(of))
			return Site{Function: f.Function, File: f.File, Line: f.Line, Cumulative: true}, of
		}
		of = next[0]
	}
}

func outermost(of []record.Stack) record.Frame {
	frames := of[0].Frames
	return frames[len(frames)-1]
}

// callees returns the stacks below the outermost function of all these, by callee, the one with
// the highest cost first, without what the function spends itself.
func callees(of []record.Stack) (out [][]record.Stack) {
	index := map[string]int{}
	for _, s := range of {
		n := len(s.Frames) - 1
		if n == 0 {
			continue
		}
		name := unwrapped(s.Frames[n-1]).Function
		i, known := index[name]
		if !known {
			i = len(out)
			index[name] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], record.Stack{Frames: s.Frames[:n], Value: s.Value})
	}
	slices.SortStableFunc(out, func(a, b []record.Stack) int { return cmp.Compare(Sum(b), Sum(a)) })
	return out
}

// HalfSite is the deepest function of the service's own that, with its callees, has half of a
// whole: the place of a cost that no single function dominates.
func HalfSite(of []record.Stack, whole float64) (Site, bool) {
	type sum struct {
		place        Site
		value, depth float64
	}
	sums := map[string]*sum{}
	for _, s := range of {
		seen := map[string]bool{}
		for i, f := range s.Frames {
			if seen[f.Function] || !Own(f) {
				continue
			}
			seen[f.Function] = true
			if sums[f.Function] == nil {
				sums[f.Function] = &sum{place: Site{Function: f.Function, File: f.File, Line: f.Line, Cumulative: true}}
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
		return Site{}, false
	}
	best.place.Share = best.value / whole
	return best.place, true
}

// WaitSites returns the sites of waits, by their time.
func WaitSites(of []record.Wait) []Site {
	var all []record.Stack
	for _, w := range of {
		all = append(all, record.Stack{Frames: w.Stack, Value: w.Seconds})
	}
	return Sites(all)
}

// Callee is the function that place calls for most of its cost, in the stacks in which place is
// the service's own code nearest the leaf; empty: place does the work itself.
func Callee(of []record.Stack, place Site) string {
	values := map[string]float64{}
	whole, most := 0.0, ""
	for _, s := range of {
		f, ok := UserFrame(s.Frames)
		if !ok || f.Function != place.Function {
			continue
		}
		whole += s.Value
		// Compared by file and line, since UserFrame renames functions that the compiler made.
		i := slices.IndexFunc(s.Frames, func(o record.Frame) bool { return o.File == f.File && o.Line == f.Line && !Standard(o.Function) })
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

// Sum is the sum of the stacks' values.
func Sum(of []record.Stack) float64 {
	out := 0.0
	for _, s := range of {
		out += s.Value
	}
	return out
}

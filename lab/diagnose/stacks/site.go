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

// At is the site of a frame, without a share.
func At(f record.Frame) Site { return Site{Function: f.Function, File: f.File, Line: f.Line} }

// lines sums a function's cost by line: its site is the line with most of it. A profile lists
// stacks in the order in which they were first seen, so the first line is any of them.
type lines struct {
	costs map[Site]float64
	most  Site
}

func (l *lines) add(f record.Frame, value float64) {
	if l.costs == nil {
		l.costs, l.most = map[Site]float64{}, At(f)
	}
	s := At(f)
	if l.costs[s] += value; l.costs[s] > l.costs[l.most] {
		l.most = s
	}
}

// withCallees is the site of the function and of what it calls.
func (l *lines) withCallees() Site {
	s := l.most
	s.Cumulative = true
	return s
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
	var at []lines                        // of out
	handed := map[string][]record.Stack{} // by middleware: what it handed to a dependency; each ends at its frame
	for _, s := range of {
		f, middleware, ok := userFrame(s.Frames)
		if !ok {
			continue
		}
		if middleware >= 0 {
			by := s.Frames[middleware].Function
			handed[by] = append(handed[by], record.Stack{Frames: s.Frames[:middleware+1], Value: s.Value})
			continue
		}
		i, known := index[f.Function]
		if !known {
			i = len(out)
			index[f.Function] = i
			out, at = append(out, Site{}), append(at, lines{})
		}
		at[i].add(f, s.Value)
		out[i].Share += s.Value / whole
	}
	for i := range out {
		share := out[i].Share
		out[i] = at[i].most
		out[i].Share = share
	}
	for _, by := range slices.Sorted(maps.Keys(handed)) {
		for _, p := range divided(handed[by], whole) {
			if i, known := index[p.Function]; known {
				out[i].Share += p.Share
				continue
			}
			index[p.Function] = len(out)
			out = append(out, p)
		}
	}
	const mentionable = 0.005 // a smaller share would print as 0%
	out = slices.DeleteFunc(out, func(p Site) bool { return p.Share < mentionable })
	slices.SortStableFunc(out, func(a, b Site) int { return cmp.Compare(b.Share, a.Share) })
	return out[:min(MaxSites, len(out))]
}

// functionCost is the cost in a function, what it calls included.
type functionCost struct {
	lines
	value float64
	depth float64 // frames from the outermost, on average
	in    []int   // indexes of its stacks
}

// functionsIn sums the stacks by every function outside of the standard library below the outermost
// frame, the highest cost first.
func functionsIn(of []record.Stack) (out []*functionCost) {
	index := map[string]*functionCost{}
	for i, s := range of {
		seen := map[string]bool{}
		for at, f := range s.Frames[:len(s.Frames)-1] {
			f = unwrapped(f)
			if library(f) || seen[f.Function] {
				continue
			}
			seen[f.Function] = true
			c := index[f.Function]
			if c == nil {
				c = &functionCost{}
				index[f.Function] = c
				out = append(out, c)
			}
			c.add(f, s.Value)
			c.value += s.Value
			c.depth += s.Value * float64(len(s.Frames)-at)
			c.in = append(c.in, i)
		}
	}
	for _, c := range out {
		c.depth /= c.value
	}
	slices.SortStableFunc(out, func(a, b *functionCost) int { return cmp.Compare(b.value, a.value) })
	return out
}

// divided returns the places of a cost that a middleware, the outermost frame of all these stacks,
// handed to a dependency's handlers: the functions among which the cost divides, each the deepest
// that still has nearly all of its branch. One function is named for each stack, so that no cost
// counts twice. What is left belongs to the deepest function that has most of the cost.
func divided(of []record.Stack, whole float64) (out []Site) {
	const (
		most  = 0.75 // of the cost: it divides further down
		alone = 0.9  // of a function's cost: what it calls is the place
		apart = 0.25 // of a function's cost: the most of it that another place may have
		worth = 0.1  // of the whole: a function is a place
	)
	var middleware lines
	for _, s := range of {
		middleware.add(unwrapped(s.Frames[len(s.Frames)-1]), s.Value)
	}
	left, depth := middleware.withCallees(), 0.0
	all, total := functionsIn(of), Sum(of)
	rest := total
	taken := map[int]bool{}
	shared := func(in []int) (value float64) {
		for _, i := range in {
			if taken[i] {
				value += of[i].Value
			}
		}
		return value
	}
	for _, f := range all {
		before := shared(f.in)
		switch {
		case f.value >= most*total:
			if f.depth > depth {
				left, depth = f.withCallees(), f.depth
			}
			continue
		case f.value < worth*whole, before > apart*f.value:
			continue
		}
		place, mine := f, map[int]bool{}
		for _, i := range f.in {
			taken[i], mine[i] = true, true
		}
		for _, g := range all {
			within := 0.0
			for _, i := range g.in {
				if mine[i] {
					within += of[i].Value
				}
			}
			if g.depth > place.depth && within >= alone*f.value && g.value <= f.value {
				place = g
			}
		}
		site := place.withCallees()
		site.Share = (f.value - before) / whole
		rest -= f.value - before
		out = append(out, site)
	}
	const rounding = 1e-9
	if left.Share = rest / whole; left.Share > rounding {
		out = append(out, left)
	}
	return out
}

// HalfSite is the deepest function of the service's own that, with its callees, has half of a
// whole: the place of a cost that no single function dominates. If none has half, it is the deepest
// that has most of what the service's own code has: the branch that requests take.
func HalfSite(of []record.Stack, whole float64) (Site, bool) {
	type sum struct {
		lines
		value, depth float64 // depth: frames from the outermost, times value
	}
	sums := map[string]*sum{}
	for _, s := range of {
		seen := map[string]bool{}
		for i, f := range s.Frames {
			if seen[f.Function] || !Own(f) || handsOn(s.Frames[:i]) {
				continue
			}
			seen[f.Function] = true
			if sums[f.Function] == nil {
				sums[f.Function] = &sum{}
			}
			sums[f.Function].add(f, s.Value)
			sums[f.Function].value += s.Value
			sums[f.Function].depth += s.Value * float64(len(s.Frames)-i)
		}
	}
	deepest := func(least float64) (best *sum) {
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			s := sums[name]
			if s.value >= least && (best == nil || s.depth/s.value > best.depth/best.value) {
				best = s
			}
		}
		return best
	}
	best := deepest(whole / 2)
	if best == nil {
		const branch, worth = 0.75, 0.2 // of the largest function's cost, and its share of the whole
		largest := 0.0
		for _, s := range sums {
			largest = max(largest, s.value)
		}
		if largest >= worth*whole {
			best = deepest(branch * largest)
		}
	}
	if best == nil || whole <= 0 {
		return Site{}, false
	}
	site := best.withCallees()
	site.Share = best.value / whole
	return site, true
}

// WaitSites returns the sites of waits, by their time.
func WaitSites(of []record.Wait) []Site {
	var all []record.Stack
	for _, w := range of {
		all = append(all, record.Stack{Frames: w.Stack, Value: w.Seconds})
	}
	return Sites(all)
}

// Wakers returns the stacks that ended waits, by the time of the waits; nil: none was seen.
func Wakers(of []record.Wait) (out []record.Stack) {
	for _, w := range of {
		if len(w.WokenBy) > 0 {
			out = append(out, record.Stack{Frames: w.WokenBy, Value: w.Seconds})
		}
	}
	return out
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

package view

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"dyno/lab/record"
)

// frame is a function at one position in the tree, with all stacks that pass through it.
type frame struct {
	function string
	file     string
	lines    map[int]float64 // value by line
	self     float64
	total    float64
	children map[string]*frame
}

// newFrames merges the common prefixes of a profile's stacks.
func newFrames(p *record.Profile, scale float64) *frame {
	root := &frame{}
	for _, s := range p.Stacks {
		v := s.Value * scale
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		if len(s.Frames) == 0 {
			s.Frames = []record.Frame{{}}
		}
		at := root
		at.total += v
		for i := len(s.Frames) - 1; i >= max(0, len(s.Frames)-maxDepth); i-- {
			at = at.child(s.Frames[i])
			at.total += v
			at.lines[s.Frames[i].Line] += v
		}
		at.self += v
	}
	return root
}

func (f *frame) child(at record.Frame) *frame {
	name := cmp.Or(at.Function, "(unknown)")
	c := f.children[name]
	if c == nil {
		c = &frame{function: name, file: at.File, lines: map[int]float64{}}
		if f.children == nil {
			f.children = map[string]*frame{}
		}
		f.children[name] = c
	}
	return c
}

// line is the line with most of the frame's value.
func (f *frame) line() (most int) {
	for _, line := range slices.Sorted(maps.Keys(f.lines)) {
		if f.lines[line] > f.lines[most] {
			most = line
		}
	}
	return most
}

// count is the number of frames below f that would be written.
func (f *frame) count(least float64) int {
	n, rest := 0, 0
	for _, c := range f.children {
		if c.total < least {
			rest = 1
			continue
		}
		n += 1 + c.count(least)
	}
	return n + rest
}

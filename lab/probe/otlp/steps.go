package otlp

import (
	"cmp"
	"slices"
)

// stage is the place of a step in a transaction: the same for all traces in which it occurs.
type stage struct {
	transaction, name string
	depth             int // 0: the root
}

// step is one span at its stage.
type step struct {
	stage
	end      int64 // CLOCK_MONOTONIC, ns
	duration int64 // ns
	self     int64 // ns in it outside its children
	failed   bool
}

const (
	noRoot   = "(root not seen)"
	maxDepth = 64 // deeper spans count at this depth
)

// steps assigns a trace's spans to stages. The transaction is named after the root; if the root
// was not sent, after the span in which a process received the request from another; if there is
// none either, noRoot. A span whose parent was not sent counts as a child of the root. A span
// that arrived twice, because its sender missed an answer, counts once; spans that are one
// another's parents do not count.
func (tr *trace) steps() []step {
	at := make(map[[8]byte]int, len(tr.spans))
	for i, s := range tr.spans {
		if _, twice := at[s.id]; !twice {
			at[s.id] = i
		}
	}
	children := make(map[[8]byte][]int)
	var tops []int
	for i, s := range tr.spans {
		if at[s.id] != i {
			continue
		}
		if _, ok := at[s.parent]; ok {
			children[s.parent] = append(children[s.parent], i)
		} else {
			tops = append(tops, i)
		}
	}
	slices.SortFunc(tops, func(a, b int) int {
		x, y := &tr.spans[a], &tr.spans[b]
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(x.start, y.start))
	})
	transaction, depth := noRoot, 1
	if len(tops) > 0 && tr.spans[tops[0]].rank() < inside {
		transaction, depth = tr.spans[tops[0]].name, 0
	}
	out := make([]step, 0, len(at))
	for level := tops; len(level) > 0; depth++ {
		var below []int
		for n, i := range level {
			s := &tr.spans[i]
			under := children[s.id]
			out = append(out, step{
				stage: stage{transaction, s.name, min(depth, maxDepth)},
				end:   s.end, duration: s.end - s.start, self: tr.self(s, under), failed: s.failed,
			})
			below = append(below, under...)
			if depth == 0 { // the other tops rank with the root's children
				below = append(below, level[n+1:]...)
				break
			}
		}
		level = below
	}
	return out
}

// Ranks of spans without a parent in the trace, by how likely they are its root.
const (
	origin = iota // it has no parent
	entry         // its parent is in another process
	inside        // its parent is in the same process and was not sent
)

func (s *span) rank() int {
	switch {
	case s.parent == [8]byte{}:
		return origin
	case s.remote:
		return entry
	}
	return inside
}

// self returns the time in s outside its children, in ns. Children may overlap, and may continue
// after s.
func (tr *trace) self(s *span, children []int) int64 {
	slices.SortFunc(children, func(a, b int) int { return cmp.Compare(tr.spans[a].start, tr.spans[b].start) })
	self, covered := s.end-s.start, s.start
	for _, i := range children {
		from, to := max(tr.spans[i].start, covered), min(tr.spans[i].end, s.end)
		if from < to {
			self -= to - from
			covered = to
		}
	}
	return self
}

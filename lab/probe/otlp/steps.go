package otlp

import (
	"cmp"
	"slices"
)

// stage is a step's place in a transaction. It is the same in all traces that contain the step.
type stage struct {
	transaction, name string
	depth             int // 0: the root
}

// step is a span with its stage.
type step struct {
	stage
	end      int64 // CLOCK_MONOTONIC, ns
	duration int64 // ns
	self     int64 // ns outside its children
	failed   bool
}

const (
	noRoot   = "(root not seen)"
	maxDepth = 64 // deeper spans count at this depth
)

// steps assigns the spans of a trace to stages. A transaction has the name of the root; if the root
// was not sent, that of the span in which a process received the request from another process;
// without such a span, noRoot. A span whose parent was not sent has the depth of the root's
// children, but is not taken off the root's self time. A span that arrived twice, because its
// sender missed an answer, counts once. Spans that are their own ancestors do not count.
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
			if depth == 0 { // the other spans without a parent go with the children of the root
				below = append(below, level[n+1:]...)
				break
			}
		}
		level = below
	}
	return out
}

// Ranks of spans whose parent is not in the trace, the likeliest root first.
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

// self returns the time of s that no child covers, in ns. Children may overlap, and may continue
// after s has ended.
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

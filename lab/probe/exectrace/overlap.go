package exectrace

import (
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

// overlap measures the time in which at least one of several waits was in progress: the sum of
// their lengths counts a moment at which ten goroutines wait ten times.
type overlap struct {
	parts []part        // disjoint and in order
	sum   time.Duration // of parts that are no longer kept
	floor trace.Time    // end of the last of those: what was before it counts no more
}

type part struct{ from, to trace.Time }

// add adds a wait. Waits arrive in the order of their ends, so that only the last parts can change.
func (o *overlap) add(from, to trace.Time) {
	from = max(from, o.floor)
	if n := len(o.parts); n > 0 {
		to = max(to, o.parts[n-1].to)
	}
	for n := len(o.parts); n > 0 && o.parts[n-1].to >= from; n-- {
		from = min(from, o.parts[n-1].from)
		o.parts = o.parts[:n-1]
	}
	if len(o.parts) >= maxParts {
		const older = maxParts / 2
		for _, p := range o.parts[:older] {
			o.sum += between(p.from, p.to)
		}
		o.floor = o.parts[older-1].to
		o.parts = append(o.parts[:0], o.parts[older:]...)
	}
	if to > from {
		o.parts = append(o.parts, part{from, to})
	}
}

func (o *overlap) total() time.Duration {
	if o == nil {
		return 0
	}
	sum := o.sum
	for _, p := range o.parts {
		sum += between(p.from, p.to)
	}
	return sum
}

// blocksIn names what a function waits for: the function that called what record.Synchronises,
// and the type of what it called there. A lock that several callers reach through one method has
// one such name.
func blocksIn(caller, called string) string {
	return caller + " " + called[:max(0, strings.LastIndexByte(called, '.'))]
}

// together returns the overlap of the waits with stacks that have the same name. Waits that are for
// nothing in the program, such as for a file or a peer, are together at one place only.
func (s *summary) together(st *stack) *overlap {
	switch {
	case st == nil || st.blocks == "":
		return nil
	case st.outside:
		return &overlap{}
	}
	o := s.overlaps[st.blocks]
	if o == nil {
		o = &overlap{}
		s.overlaps[st.blocks] = o
	}
	return o
}

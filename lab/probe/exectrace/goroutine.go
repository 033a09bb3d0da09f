package exectrace

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// spent is time by state of the goroutine.
type spent struct {
	running, runnable, waiting, syscall time.Duration
}

func (s *spent) add(more spent) {
	s.running += more.running
	s.runnable += more.runnable
	s.waiting += more.waiting
	s.syscall += more.syscall
}

// busy returns the time in which the goroutine worked, in the kernel too.
func (s *spent) busy() time.Duration { return s.running + s.syscall }

// goroutine is one goroutine, until it ends or the trace does.
type goroutine struct {
	spent
	entry *entry // nil: not known yet
	own   bool   // it belongs to the observer

	state  trace.GoState
	since  trace.Time
	before bool   // it was in that state when the trace began
	reason string // reason of the wait
	stack  *stack // place where the wait or the system call began; nil: not known

	hidden *wait // the wait in progress when the trace began, at an unknown place

	last      *stack // place where it last gave up its processor
	preempted *stack // the same, without waiting
	met       []*place
}

// entry is the function that goroutines were started with, with the sums over them.
type entry struct {
	spent
	frame      record.Frame
	goroutines int
}

// ofRuntime reports whether the goroutines are the runtime's own.
func (e *entry) ofRuntime() bool { return strings.HasPrefix(e.frame.Function, "runtime.") }

// meets reports whether the goroutine is at the place for the first time.
func (g *goroutine) meets(p *place) bool {
	if len(g.met) >= maxMet || slices.Contains(g.met, p) {
		return false
	}
	g.met = append(g.met, p)
	return true
}

// enter begins a state. st is the goroutine's stack; nil: not known.
func (g *goroutine) enter(to trace.GoState, st *stack, e event) {
	g.state, g.since, g.before = to, e.Time(), false
	g.reason, g.stack = e.transition.Reason, st
	if st == nil {
		return
	}
	g.last = st
	if to == trace.GoRunnable {
		g.preempted = st
	}
}

// saw stores what a stack of the goroutine shows about it.
func (s *summary) saw(g *goroutine, st *stack) {
	if st == nil {
		return
	}
	g.own = g.own || st.own
	if g.entry == nil && st.entry.Function != "" {
		g.entry = s.entryOf(st.entry)
	}
}

func (s *summary) entryOf(f record.Frame) *entry {
	if e := s.entries[f.Function]; e != nil {
		return e
	}
	if len(s.entries) >= maxEntries {
		f = record.Frame{}
		if e := s.entries[""]; e != nil {
			return e
		}
	}
	e := &entry{frame: f}
	s.entries[f.Function] = e
	return e
}

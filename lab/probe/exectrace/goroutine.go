package exectrace

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// spent is the time of goroutines by state.
type spent struct {
	running, runnable, waiting, syscall time.Duration
}

func (s *spent) add(more spent) {
	s.running += more.running
	s.runnable += more.runnable
	s.waiting += more.waiting
	s.syscall += more.syscall
}

// busy returns the time in which the goroutine worked, including short system calls and those that
// blocked.
func (s *spent) busy() time.Duration { return s.running + s.syscall }

// goroutine is a goroutine that has not ended.
type goroutine struct {
	spent
	entry *entry // nil: not known yet
	own   bool   // it belongs to the observer
	born  bool   // it was started within the trace

	state  trace.GoState
	since  trace.Time
	before bool   // it has been in that state since before the trace began
	reason string // reason of a wait
	stack  *stack // where the wait or the system call began; nil: not known

	hidden *wait // the wait that was in progress when the trace began, if its place was not known

	last      *stack // where it last gave up its processor
	preempted *stack // where it last gave up its processor while it could have run on
	met       []*place
}

// entry is a function that goroutines were started with, and the sums over these goroutines.
type entry struct {
	spent
	frame      record.Frame
	goroutines int
	started    int // of them, within the trace
}

// ofRuntime reports whether the goroutines belong to the runtime itself.
func (e *entry) ofRuntime() bool { return strings.HasPrefix(e.frame.Function, "runtime.") }

// meets reports whether the goroutine is at the place for the first time, and remembers the place.
func (g *goroutine) meets(p *place) bool {
	if len(g.met) >= maxMet || slices.Contains(g.met, p) {
		return false
	}
	g.met = append(g.met, p)
	return true
}

// enter records the beginning of a state. st is the stack of the goroutine; nil: not known.
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

// saw records what a stack reveals about its goroutine: its entry function, and whether it belongs
// to the observer.
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

package exectrace

import (
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// summary is the state while a trace is read.
type summary struct {
	syncs           int // EventSync events: one per begin of a generation, and one at the end
	start, gen, now trace.Time
	procs           int
	stopped, marked period

	live      map[trace.GoID]*goroutine
	uncounted int // number of goroutines beyond maxGoroutines
	stacks    stacks
	entries   map[string]*entry
	places    map[spot]*place
	overlaps  map[string]*overlap // by blocksIn: no more than there are stacks

	// Sums over the goroutines that have ended.
	goroutines int
	total      spent
	rest       time.Duration // waited at places beyond maxPlaces
	busiest    *goroutine
}

func newSummary() *summary {
	return &summary{
		live:    map[trace.GoID]*goroutine{},
		stacks:  stacks{byHandle: map[trace.Stack]*stack{}, byLines: map[string]*stack{}},
		entries: map[string]*entry{},
		places:  map[spot]*place{}, overlaps: map[string]*overlap{},
	}
}

// period sums the time during which an activity was in progress.
type period struct {
	open  bool
	since trace.Time
	sum   time.Duration
}

func (p *period) begin(at trace.Time) {
	if !p.open {
		p.open, p.since = true, at
	}
}

func (p *period) end(at trace.Time) {
	if p.open {
		p.open = false
		p.sum += between(p.since, at)
	}
}

// between returns the time from one instant to another. It is never negative, whatever the trace
// contains.
func between(from, to trace.Time) time.Duration { return max(0, to.Sub(from)) }

func (s *summary) take(e event) {
	switch e.Kind() {
	case trace.EventSync:
		s.syncs++
		s.gen = e.Time()
		if s.syncs == 1 {
			s.start = s.gen
		}
		clear(s.stacks.byHandle)
	case trace.EventMetric:
		if e.procs > 0 {
			s.procs = e.procs
		}
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		s.span(e)
	case trace.EventStateTransition:
		s.transition(e)
	}
	s.now = e.Time()
}

// span follows the phases of the GC. It ignores stops of the world for other reasons: tracing
// itself begins and ends with one.
func (s *summary) span(e event) {
	var p *period
	switch {
	case e.span == "GC concurrent mark phase":
		p = &s.marked
	case strings.HasPrefix(e.span, "stop-the-world (GC"):
		p = &s.stopped
	default:
		return
	}
	switch e.Kind() {
	case trace.EventRangeBegin:
		p.begin(e.Time())
	case trace.EventRangeActive:
		p.begin(s.gen)
	case trace.EventRangeEnd:
		p.end(e.Time())
	}
}

// transition follows a goroutine from one state to the next.
func (s *summary) transition(e event) {
	if e.transition.Resource.Kind != trace.ResourceGoroutine {
		return
	}
	id := e.transition.Resource.Goroutine()
	from, to := e.transition.Goroutine()
	st := s.stacks.of(e.transition.Stack)
	if from == trace.GoUndetermined || from == trace.GoNotExist {
		s.appear(id, from, to, st, e.Time())
		return
	}
	g := s.live[id]
	switch {
	case g == nil: // beyond maxGoroutines
	case from == to: // the new generation repeats the state, perhaps with a stack this time
		s.saw(g, st)
		if g.stack == nil {
			g.stack = st
		}
	default:
		s.leave(g, to, e.Time(), s.live[e.Goroutine()], s.stacks.of(e.Stack()))
		s.saw(g, st)
		g.enter(to, st, e)
		if to == trace.GoNotExist {
			s.fold(g)
			delete(s.live, id)
		}
	}
}

// appear adds a goroutine: either a new one, whose stack is the function that it will start with,
// or one that existed before the trace and has been in the same state since.
func (s *summary) appear(id trace.GoID, from, to trace.GoState, st *stack, at trace.Time) {
	if len(s.live) >= maxGoroutines {
		s.uncounted++
		return
	}
	g := &goroutine{state: to, since: at}
	if from == trace.GoUndetermined {
		g.since, g.before, g.stack = s.gen, true, st
	}
	g.born = from == trace.GoNotExist
	s.saw(g, st)
	s.live[id] = g
}

// leave adds the time of the state that a goroutine leaves at an instant. to is the next state, and
// GoUndetermined when the trace ends. waker is the goroutine that ended a wait (nil: the runtime),
// and site its stack.
func (s *summary) leave(g *goroutine, to trace.GoState, at trace.Time, waker *goroutine, site *stack) {
	d := between(g.since, at)
	w := wait{spot: spot{reason: g.reason, stack: g.stack}, lasted: d, ended: to != trace.GoUndetermined, until: at}
	switch {
	case g.state == trace.GoRunnable:
		g.runnable += d
	case g.state == trace.GoWaiting:
		g.waiting += d
		w.waker, w.site = waker, site
		s.waited(g, w)
	case g.state == trace.GoSyscall && g.stack != nil && g.stack.asleep:
		g.waiting += d
		s.waited(g, w)
	case g.state == trace.GoSyscall && (to == trace.GoRunnable || d >= blockedAfter):
		g.syscall += d
		w.reason = systemCall
		s.waited(g, w)
	case g.state == trace.GoSyscall || g.state == trace.GoRunning:
		g.running += d
	}
}

// waited adds a wait to its place. It keeps a wait that began before the trace, at an unknown
// place, until the goroutine is folded.
func (s *summary) waited(g *goroutine, w wait) {
	if w.stack == nil && g.before {
		g.hidden = &w
		return
	}
	s.enter(g, w)
}

// fold adds a goroutine to the sums, when it or the trace has ended.
func (s *summary) fold(g *goroutine) {
	if g.own {
		return
	}
	if g.entry == nil {
		g.entry = s.entryOf(record.Frame{})
	}
	if g.hidden != nil {
		s.enter(g, *g.hidden)
	}
	s.goroutines++
	s.total.add(g.spent)
	g.entry.goroutines++
	if g.born {
		g.entry.started++
	}
	g.entry.add(g.spent)
	// A goroutine that was in a system call during the whole trace may have been idle, for example
	// waiting for a child process.
	idle := g.before && g.state == trace.GoSyscall
	if !g.entry.ofRuntime() && !idle && (s.busiest == nil || g.busy() > s.busiest.busy()) {
		s.busiest = g
	}
}

package exectrace

import (
	"cmp"
	"slices"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// result ends the states of all goroutines and returns the sums.
func (s *summary) result() *record.Trace {
	s.stopped.end(s.now)
	s.marked.end(s.now)
	for _, g := range s.live {
		s.leave(g, trace.GoUndetermined, s.now, nil, nil)
		s.fold(g)
	}
	covered := between(s.start, s.now)
	t := &record.Trace{
		Seconds:    covered.Seconds(),
		Procs:      s.procs,
		Goroutines: s.goroutines + s.uncounted,
		Running:    s.total.running.Seconds(),
		Runnable:   s.total.runnable.Seconds(),
		Syscall:    s.total.syscall.Seconds(),
		GCStopped:  s.stopped.sum.Seconds(),
		GCRunning:  s.marked.sum.Seconds(),
		Groups:     s.groups(),
	}
	t.Waits, t.Rest = s.waits()
	if b := s.busiest; b != nil && b.busy() > 0 {
		t.Busiest = &record.Busiest{Entry: b.entry.frame, Running: min(1, b.busy().Seconds()/covered.Seconds())}
		t.Busiest.Stack = cmp.Or(b.preempted, b.last).frames()
	}
	return t
}

func (s *summary) groups() []record.Group {
	var out []record.Group
	for _, e := range s.entries {
		if e.goroutines == 0 {
			continue
		}
		out = append(out, record.Group{
			Entry: e.frame, Goroutines: e.goroutines, Started: e.started,
			Running: e.running.Seconds(), Runnable: e.runnable.Seconds(),
			Waiting: e.waiting.Seconds(), Syscall: e.syscall.Seconds(),
		})
	}
	slices.SortFunc(out, func(a, b record.Group) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Entry.Function, b.Entry.Function))
	})
	return out[:min(len(out), maxShown)]
}

// waits returns the places with the longest waits, and the seconds waited at all others.
func (s *summary) waits() (shown []record.Wait, rest float64) {
	var all []*place
	for _, p := range s.places {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *place) int {
		return cmp.Or(cmp.Compare(b.waited, a.waited), cmp.Compare(b.ended, a.ended), cmp.Compare(a.reason, b.reason))
	})
	left := s.rest
	for i, p := range all {
		if i < maxShown {
			shown = append(shown, p.record(between(s.start, s.now)))
		} else {
			left += p.waited
		}
	}
	return shown, left.Seconds()
}

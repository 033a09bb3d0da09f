package findings

import (
	"fmt"
	"math"
	"slices"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// Holder is the function that holds a lock while others wait for it.
type Holder struct {
	Place         // its Share is that of the waiting; the line is where it gives the lock back
	Costs  *Place // the statement in it that most of the time passes in while it holds the lock; nil: not seen
	Calls  string // what that statement calls; empty: it does the work itself
	booked bool   // by the mutex profile, and not only by the trace
}

// Doing says what the lock is held for, to follow where it is held; empty: that was not seen.
func (h Holder) Doing() string {
	switch {
	case h.Costs == nil:
		return ""
	case h.Calls == "":
		return fmt.Sprintf("; while it is held, %s of the time passes at %s", percent(h.Costs.Share), location(*h.Costs))
	}
	return fmt.Sprintf("; while it is held, %s of the time passes in %s, called at %s", percent(h.Costs.Share), h.Calls, location(*h.Costs))
}

// where says where it holds the lock, without the line at which it gives it back if there is a better one.
func (h Holder) where() string {
	if h.Costs != nil {
		return h.Function
	}
	return at(h.Place)
}

// HolderOf finds who holds the locks that others wait for: of are the waits, by the trace. The mutex profile books
// a wait on the stack that ended it by unlocking; where it missed most of them, the trace knows who ended them. (The
// runtime passes on within a lock's queue from when on the waits are profiled: a queue that never empties since
// before then is never booked.)
func HolderOf(r *record.Run, t *record.Trace, of []record.Wait) (Holder, bool) {
	var unlocking []record.Stack
	seconds := 0.0
	for _, w := range of {
		seconds += w.Seconds
		if len(w.WokenBy) > 0 {
			unlocking = append(unlocking, record.Stack{Frames: w.WokenBy, Value: w.Seconds})
		}
	}
	const missed = 0.5 // of what the trace saw
	p, err := r.Profile(record.ProfileMutex, record.ValueDelay)
	booked := err == nil && p.Seconds > 0 && len(own(p).Stacks) > 0 && (t == nil || own(p).Total()/1e9/p.Seconds >= missed*seconds/t.Seconds)
	if booked {
		unlocking = own(p).Stacks
	}
	where := places(unlocking)
	if len(where) == 0 {
		return Holder{}, false
	}
	h := Holder{Place: where[0], booked: booked}
	h.spend(r, t, of, unlocking)
	return h, true
}

// spend finds where the holder's time goes between taking the lock and giving it back: what it computes, by the
// CPU profile, and what it waits for, by the trace.
func (h *Holder) spend(r *record.Run, t *record.Trace, of []record.Wait, unlocking []record.Stack) {
	from, to := 0, 0 // lines
	for _, w := range of {
		if i := h.within(w.Stack); i >= 0 {
			from = max(from, w.Stack[i].Line)
		}
	}
	for _, s := range unlocking {
		if i := h.within(s.Frames); i >= 0 {
			to = max(to, s.Frames[i].Line)
		}
	}
	if to == 0 {
		to = math.MaxInt
	}
	type statement struct {
		line  int
		calls string
	}
	spent, whole := map[statement]float64{}, 0.0
	add := func(frames []record.Frame, seconds float64) {
		i := h.within(frames)
		if i < 0 || frames[i].Line <= from || frames[i].Line > to {
			return
		}
		s := statement{line: frames[i].Line}
		if i > 0 && stacks.Package(frames[i-1].Function) != "runtime" {
			s.calls = frames[i-1].Function
		}
		spent[s] += seconds
		whole += seconds
	}
	if p, err := r.Profile(record.ProfileCPU, record.ValueCPU); err == nil && p.Seconds > 0 {
		for _, s := range own(p).Stacks {
			if c := stacks.ClassOf(s.Frames); c != stacks.Lock && c != stacks.Scheduler {
				add(s.Frames, s.Value/1e9/p.Seconds)
			}
		}
	}
	if t != nil {
		for _, w := range t.Waits {
			if stacks.What(w) != stacks.WaitLock {
				add(w.Stack, w.Seconds/t.Seconds)
			}
		}
	}
	for s, seconds := range spent {
		share := seconds / whole
		if h.Costs == nil || share > h.Costs.Share || share == h.Costs.Share && s.line < h.Costs.Line {
			h.Costs = &Place{Function: h.Function, File: h.File, Line: s.line, Share: share}
			h.Calls = s.calls
		}
	}
}

// within is the index of the holder's frame in a stack; -1: it is not in it.
func (h *Holder) within(frames []record.Frame) int {
	return slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == h.Function && f.File == h.File })
}

package stacks

import (
	"fmt"
	"math"
	"slices"

	"dyno/lab/record"
)

// Holder is the function that holds a lock while other goroutines wait for it.
type Holder struct {
	Site          // Share is of the waiting; the line is where it releases the lock
	Costs  *Site  // its statement that takes most of the time under the lock; nil: not seen
	Calls  string // callee of that statement; empty: the statement does the work itself
	Booked bool   // shown by the mutex profile, and not only by the trace
	// Busy is the share of the time in which the lock is held there, and Computes the part of it in
	// which its holder computes, if all of it is one lock; 0: not seen.
	Busy, Computes float64
}

// Doing describes what the holder does under the lock, to follow its place; empty: not seen.
func (h Holder) Doing() string {
	switch {
	case h.Costs == nil:
		return ""
	case h.Calls == "":
		return fmt.Sprintf("; while it is held, %.0f%% of the time is spent at %s", 100*h.Costs.Share, h.Costs.Location())
	}
	return fmt.Sprintf("; while it is held, %.0f%% of the time is spent in %s, called at %s", 100*h.Costs.Share, h.Calls, h.Costs.Location())
}

// Name names the holder. It leaves out the line of the release if Costs has a more useful line.
func (h Holder) Name() string {
	if h.Costs != nil {
		return h.Function
	}
	return h.String()
}

// HolderOf finds the function that holds the lock for which goroutines wait longest. of are the
// trace's waits for locks. The mutex profile records a wait at the stack that ended it by
// unlocking; if it missed most of the waiting, the trace's stacks that ended the waits take its
// place. (The mutex profile covers only waits that began after it started: while the queue never
// empties, the runtime hands the lock over without recording.)
func HolderOf(r *record.Run, t *record.Trace, of []record.Wait) (Holder, bool) {
	var unlocking []record.Stack
	seconds := 0.0
	for _, w := range of {
		seconds += w.Seconds
		if len(w.WokenBy) > 0 {
			unlocking = append(unlocking, record.Stack{Frames: w.WokenBy, Value: w.Seconds})
		}
	}
	const missed = 0.5 // share of the trace's waits
	p, err := r.Profile(record.ProfileMutex, record.ValueDelay)
	booked := err == nil && p.Seconds > 0 && len(Unprofiled(p).Stacks) > 0 && (t == nil || Unprofiled(p).Total()/1e9/p.Seconds >= missed*seconds/t.Seconds)
	if booked {
		unlocking = Unprofiled(p).Stacks
	}
	where := Sites(unlocking)
	if len(where) == 0 {
		return Holder{}, false
	}
	h := Holder{Site: where[0], Booked: booked}
	h.spend(r, t, of, unlocking)
	return h, true
}

// spend finds how the holder spends the time between acquiring and releasing the lock: computing,
// by the CPU profile, and waiting, by the trace.
func (h *Holder) spend(r *record.Run, t *record.Trace, of []record.Wait, unlocking []record.Stack) {
	from, to, readers := 0, 0, false // lines; whether several may hold it
	for _, w := range of {
		if i := h.within(w.Stack); i >= 0 {
			from = max(from, w.Stack[i].Line)
		}
	}
	for _, s := range unlocking {
		if i := h.within(s.Frames); i >= 0 {
			to = max(to, s.Frames[i].Line)
			readers = readers || slices.ContainsFunc(s.Frames[:i], func(f record.Frame) bool { return f.Function == "sync.(*RWMutex).RUnlock" })
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
		if i > 0 && Package(frames[i-1].Function) != "runtime" {
			s.calls = frames[i-1].Function
		}
		spent[s] += seconds
		whole += seconds
	}
	if p, err := r.Profile(record.ProfileCPU, record.ValueCPU); err == nil && p.Seconds > 0 {
		for _, s := range Unprofiled(p).Stacks {
			if c := ClassOf(s.Frames); c != Lock && c != Scheduler {
				add(s.Frames, s.Value/1e9/p.Seconds)
			}
		}
	}
	computes := whole
	if t != nil {
		for _, w := range t.Waits {
			if What(w) != WaitLock {
				add(w.Stack, w.Seconds/t.Seconds)
			}
		}
	}
	if from > 0 && !readers {
		h.Busy, h.Computes = min(whole, 1), min(computes, 1)
	}
	for s, seconds := range spent {
		share := seconds / whole
		if h.Costs == nil || share > h.Costs.Share || share == h.Costs.Share && s.line < h.Costs.Line {
			h.Costs = &Site{Function: h.Function, File: h.File, Line: s.line, Share: share}
			h.Calls = s.calls
		}
	}
}

// within returns the index of the holder's frame in a stack; -1: it is not there.
func (h *Holder) within(frames []record.Frame) int {
	return slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == h.Function && f.File == h.File })
}

package stacks

import (
	"fmt"
	"math"
	"slices"

	"dyno/lab/record"
)

// Holder is the function that holds a lock while other goroutines wait for it.
type Holder struct {
	Site            // Share is of the waiting; the line is where it releases the lock
	Costs  *Site    // its statement that takes most of the time under the lock; nil: not seen
	Calls  string   // callee of that statement; empty: the statement does the work itself
	Within bool     // the callee is called by a library that the statement calls
	Awaits WaitKind // what it waits for, most of the time under the lock; empty: it computes, or not seen
	Booked bool     // shown by the mutex profile, and not only by the trace
	// Busy is the share of the time in which the lock is held there, and Computes the part of it in
	// which its holder computes, if it is one lock; 0: not seen.
	Busy, Computes float64
	// Taken is the mean number of goroutines that hold the lock there, or one of several locks, or that
	// have what they took from a pool; 0: not seen.
	Taken float64

	in section
}

// Doing describes what the holder does under the lock, to follow its place; empty: not seen.
func (h Holder) Doing() string {
	if h.Costs == nil {
		return ""
	}
	text := fmt.Sprintf("; while it is held, %.0f%% of the time is spent at %s", 100*h.Costs.Share, h.Costs.Location())
	if h.Calls != "" {
		called := "called at"
		if h.Within {
			called = "below"
		}
		text = fmt.Sprintf("; while it is held, %.0f%% of the time is spent in %s, %s %s", 100*h.Costs.Share, h.Calls, called, h.Costs.Location())
	}
	if h.Awaits == WaitDisk || h.Awaits == WaitNetwork {
		text += ", most of it waiting " + h.Awaits.Text()
	}
	return text
}

// Name names the holder. It leaves out the line of the release if Costs has a more useful line.
func (h Holder) Name() string {
	if h.Costs != nil {
		return h.Function
	}
	return h.String()
}

// HolderOf finds the function that holds the lock for which goroutines wait longest: the first of
// HoldersOf.
func HolderOf(r *record.Run, t *record.Trace, of []record.Wait) (Holder, bool) {
	all := holdersOf(r, t, of, 1)
	if len(all) == 0 {
		return Holder{}, false
	}
	return all[0], true
}

// HoldersOf finds the functions that hold the lock for which goroutines wait, longest first. of are
// the trace's waits for locks. The mutex profile records a wait at the stack that ended it by
// unlocking; if it missed most of the waiting, the stacks that ended the waits in the trace take its
// place. (The mutex profile covers only waits that began after it started: while the queue never
// empties, the runtime hands the lock over without recording.)
func HoldersOf(r *record.Run, t *record.Trace, of []record.Wait) []Holder {
	return holdersOf(r, t, of, MaxSites)
}

func holdersOf(r *record.Run, t *record.Trace, of []record.Wait, most int) (out []Holder) {
	unlocking, seconds := Wakers(of), 0.0
	for _, w := range of {
		seconds += w.Seconds
	}
	const missed = 0.5 // share of the trace's waits
	p, err := r.Profile(record.ProfileMutex, record.ValueDelay)
	booked := err == nil && p.Seconds > 0 && len(Unprofiled(p).Stacks) > 0 && (t == nil || Unprofiled(p).Total()/1e9/p.Seconds >= missed*seconds/t.Seconds)
	switch {
	case booked:
		unlocking = Unprofiled(p).Stacks
	case unlocking == nil && t != nil && t.Procs > 0:
		unlocking = inside(of, t)
	}
	where := Sites(unlocking)
	for _, at := range where[:min(most, len(where))] {
		h := Holder{Site: at, Booked: booked}
		h.spend(r, t, WaitLock, of, unlocking)
		if i := slices.IndexFunc(out, func(o Holder) bool { return o.in == h.in }); i >= 0 {
			out[i].Share += h.Share // by one function that both call
			continue
		}
		out = append(out, h)
	}
	return out
}

// inside finds goroutines that wait while they hold the lock, for a trace in which no wait for it
// ended: their calls are those of a goroutine that waits for it, up to a function in which they are
// at a later line. Together they must be about one goroutine: more would be past the release.
func inside(of []record.Wait, t *record.Trace) (out []record.Stack) {
	together := 0.0
	for _, other := range t.Waits {
		switch What(other) {
		case WaitDisk, WaitSyscall, WaitNetwork, WaitTimer:
		default:
			continue
		}
		if slices.ContainsFunc(of, func(w record.Wait) bool { return LaterThan(w.Stack, other.Stack) }) {
			out = append(out, record.Stack{Frames: other.Stack, Value: other.Seconds})
			together += other.Seconds
		}
	}
	if least, most := 0.5*t.Seconds, 1.05*t.Seconds; together < least || together > most {
		return nil
	}
	return out
}

// LaterThan reports whether b is a stack of the same calls as a, up to a function of the service or
// of a library in which b is at a later line.
func LaterThan(a, b []record.Frame) bool {
	for i := 1; i <= min(len(a), len(b)); i++ {
		f, g := a[len(a)-i], b[len(b)-i]
		if f.Function != g.Function {
			return false
		}
		if f.Line != g.Line {
			return f.Line < g.Line && !Standard(f.Function)
		}
	}
	return false
}

// TakerOf finds the function that has what goroutines wait for in a pool. of are the trace's waits
// for it, which end when another goroutine gives back what it has taken. It takes and gives back in
// one function, or in what that calls.
func TakerOf(r *record.Run, t *record.Trace, of []record.Wait) (Holder, bool) {
	back := Wakers(of)
	takes := map[string]bool{}
	for _, w := range of {
		for i, f := range w.Stack {
			takes[f.Function] = takes[f.Function] || Own(f) && !handsOn(w.Stack[:i]) // a middleware takes nothing
		}
	}
	for i, s := range back {
		if at := slices.IndexFunc(s.Frames, func(f record.Frame) bool { return takes[f.Function] }); at > 0 {
			back[i].Frames = s.Frames[at:]
		}
	}
	where := Sites(back)
	if r == nil || len(where) == 0 {
		return Holder{}, false
	}
	h := Holder{Site: where[0]}
	h.spend(r, t, WaitPool, of, back)
	return h, true
}

// spend finds how the holder spends the time between acquiring and releasing the lock: computing,
// by the CPU profile, and waiting, by the trace. held is the kind of the waits for the lock.
func (h *Holder) spend(r *record.Run, t *record.Trace, held WaitKind, of []record.Wait, unlocking []record.Stack) {
	in := h.section(of, unlocking)
	h.in = in
	type statement struct {
		line  int // of the holder
		calls string
	}
	spent, whole := map[statement]float64{}, 0.0
	add := func(frames []record.Frame, seconds float64) bool {
		i, line := in.index(frames), 0
		if i < 0 || frames[i].Line <= in.from || frames[i].Line > in.to {
			return false
		}
		if own := h.within(frames); own >= 0 {
			line = frames[own].Line
		}
		s := statement{line: line}
		if i > 0 && Package(frames[i-1].Function) != "runtime" {
			s.calls = frames[i-1].Function
		}
		spent[s] += seconds
		whole += seconds
		return true
	}
	if p, err := r.Profile(record.ProfileCPU, record.ValueCPU); err == nil && p.Seconds > 0 {
		for _, s := range Unprofiled(p).Stacks {
			if c := ClassOf(s.Frames); c != Lock && c != Scheduler {
				add(s.Frames, s.Value/1e9/p.Seconds)
			}
		}
	}
	computes, waits := whole, map[WaitKind]float64{}
	if t != nil {
		for _, w := range t.Waits {
			kind := What(w)
			// sync.Cond gives its lock back while it waits.
			if kind == held || kind == WaitCond && held == WaitLock || !add(w.Stack, w.Seconds/t.Seconds) {
				continue
			}
			if kind == WaitNetwork && ofFile(w.Stack) {
				kind = WaitSyscall // a pipe or a terminal
			}
			waits[kind] += w.Seconds / t.Seconds
		}
	}
	h.Within = in.function != h.Function
	if in.from > 0 {
		h.Taken = whole
	}
	if in.from > 0 && !in.readers {
		h.Busy, h.Computes = min(whole, 1), min(computes, 1)
	}
	for s, seconds := range spent {
		share := seconds / whole
		if h.Costs == nil || share > h.Costs.Share || share == h.Costs.Share && s.line < h.Costs.Line {
			h.Costs = &Site{Function: h.Function, File: h.File, Line: s.line, Share: share}
			h.Calls = s.calls
		}
	}
	for kind, seconds := range waits {
		if seconds > whole/2 {
			h.Awaits = kind
		}
	}
}

// section is the part of a function in which a lock is held.
type section struct {
	function, file string
	from, to       int  // lines: after from, up to to
	readers        bool // several goroutines may be in it
}

// section finds where the lock is held: between its acquisition and its release in the holder. If one
// statement of the holder, a call, does both, it is between them in the called function, and so on.
func (h *Holder) section(of []record.Wait, unlocking []record.Stack) section {
	in := section{function: h.Function, file: h.File}
	for been := map[string]bool{}; ; been[in.function] = true {
		acquired, released := map[string]bool{}, map[string]record.Frame{}
		in.from, in.to = 0, 0
		for _, w := range of {
			if i := in.index(w.Stack); i >= 0 {
				in.from = max(in.from, w.Stack[i].Line)
				if i > 0 {
					acquired[w.Stack[i-1].Function] = true
				}
			}
		}
		for _, s := range unlocking {
			if i := in.index(s.Frames); i >= 0 {
				in.to = max(in.to, s.Frames[i].Line)
				in.readers = in.readers || slices.ContainsFunc(s.Frames[:i], func(f record.Frame) bool { return f.Function == "sync.(*RWMutex).RUnlock" })
				if i > 0 {
					released[s.Frames[i-1].Function] = s.Frames[i-1]
				}
			}
		}
		if in.to == 0 {
			in.to = math.MaxInt
		}
		if in.from != in.to {
			return in
		}
		into, ok := record.Frame{}, false
		for name, f := range released {
			if acquired[name] && (!ok || name < into.Function) {
				into, ok = f, true
			}
		}
		if !ok || been[into.Function] || into.Function == in.function {
			return in
		}
		in.function, in.file = into.Function, into.File
	}
}

// index returns the index of the section's frame in a stack; -1: it is not there.
func (in section) index(frames []record.Frame) int {
	return slices.IndexFunc(frames, func(f record.Frame) bool { return f.Function == in.function && f.File == in.file })
}

// within returns the index of the holder's frame in a stack; -1: it is not there.
func (h *Holder) within(frames []record.Frame) int {
	return section{function: h.Function, file: h.File}.index(frames)
}

package stacks

import (
	"maps"
	"math"
	"slices"

	"dyno/lab/record"
)

// Trace is a run's execution trace or, if the target serves none, an estimate from its goroutine
// profiles: the stacks found most often are where goroutines spend their time.
func Trace(r *record.Run) (*record.Trace, error) {
	t, err := r.Trace()
	if err == nil {
		return t, nil
	}
	p, missing := r.Profile(record.ProfileGoroMany, record.ValueGoroutines)
	if missing != nil || p.Samples == 0 {
		return nil, err
	}
	return traceOf(p), nil
}

// traceOf makes a trace of one second from goroutine profiles. They do not show what ended a wait.
// If exactly one goroutine of the program works besides the requests, it is assumed to be the one
// that they wait for.
func traceOf(p *record.Profile) *record.Trace {
	t := &record.Trace{Seconds: 1}
	each := 1 / float64(p.Samples)
	groups, workers := map[string]*record.Group{}, map[string]*worker{}
	count := map[string]float64{}
	for _, s := range p.Stacks {
		if len(s.Frames) == 0 || ClassOf(s.Frames) == Profiling {
			continue
		}
		n := s.Value * each
		root := s.Frames[len(s.Frames)-1]
		if groups[root.Function] == nil {
			groups[root.Function] = &record.Group{Entry: root}
		}
		g := groups[root.Function]
		waits := parked(s.Frames)
		if waits {
			t.Waits = append(t.Waits, record.Wait{Stack: s.Frames, Entry: g.Entry, Seconds: n, Goroutines: int(math.Ceil(n))})
			g.Waiting += n
		} else {
			t.Running += n
			g.Running += n
		}
		count[root.Function] += n
		entry, own := Entry(s.Frames)
		if !own || root.Function == "runtime.main" || InRequest(s.Frames) || idle(s.Frames) {
			continue
		}
		if workers[entry.Function] == nil {
			workers[entry.Function] = &worker{}
		}
		workers[entry.Function].add(s.Frames, n, !waits || ofFile(s.Frames) || elsewhere(s.Frames, entry))
		if ofFile(s.Frames) {
			workers[entry.Function].files += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		g.Goroutines = int(math.Round(count[name]))
		t.Groups = append(t.Groups, *g)
	}
	only := theWorker(workers, each)
	if only == nil {
		return t
	}
	for i, w := range t.Waits {
		switch KindOf(w) {
		case WaitChannel, WaitSelect, WaitCond, WaitGroup:
			t.Waits[i].WokenBy, t.Waits[i].Wakers, t.Waits[i].WakerBusy = only.stack, 1, min(1, only.busy)
		}
	}
	return t
}

// theWorker returns the goroutine that works most of the time, if it is the only one, or else the
// only one that is often in a call to a file; nil: none, or several.
func theWorker(workers map[string]*worker, each float64) (only *worker) {
	const mostly = 0.5 // share of the moments
	for _, w := range workers {
		switch {
		case w.busy < mostly:
		case only != nil || w.all > 1+each:
			return nil
		default:
			only = w
		}
	}
	if only != nil {
		return only
	}
	const often = 0.25 // share of the moments
	for _, w := range workers {
		switch {
		case w.files < often:
		case only != nil || w.all > 1+each:
			return nil
		default:
			only = w
		}
	}
	return only
}

// worker is the goroutines of one entry function.
type worker struct {
	all, busy float64        // goroutines; those that did not wait for work
	files     float64        // those in a call to a file
	stack     []record.Frame // common part of the busy goroutines' stacks, the leaf first
}

func (w *worker) add(frames []record.Frame, n float64, busy bool) {
	w.all += n
	if !busy {
		return
	}
	if w.busy += n; w.stack == nil {
		w.stack = frames
		return
	}
	same := 0
	for a, b := len(w.stack)-1, len(frames)-1; a >= 0 && b >= 0 && w.stack[a].Function == frames[b].Function; a, b = a-1, b-1 {
		same++
	}
	w.stack = w.stack[len(w.stack)-same:]
}

// parked reports whether a goroutine waits for another goroutine, or in a call to a file.
func parked(frames []record.Frame) bool {
	return frames[0].Function == "runtime.gopark" || ofFile(frames)
}

// ofFile reports whether a goroutine is in a call to a file, which is never a wait for more work.
func ofFile(frames []record.Frame) bool { return What(record.Wait{Stack: frames}) == WaitDisk }

// Working is the mean number of goroutines outside of requests that ran, or were ready to run, in a
// trace that was made of goroutine profiles.
func Working(t *record.Trace) (n float64) {
	for _, g := range t.Groups {
		if !serving.Match(g.Entry.Function) && g.Entry.Function != "runtime.main" {
			n += g.Running / t.Seconds
		}
	}
	return n
}

// elsewhere reports whether a goroutine waits within a call to a package other than its entry's: a
// wait in its own package is for more work.
func elsewhere(frames []record.Frame, entry record.Frame) bool {
	for _, f := range frames {
		if !Standard(f.Function) {
			return Package(f.Function) != Package(entry.Function)
		}
	}
	return false
}

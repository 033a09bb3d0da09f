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
	t, _, err := TraceOrMoments(r)
	return t, err
}

// TraceOrMoments is Trace; works is, of an estimate, the mean number of goroutines outside of
// requests that ran, or were ready to run.
func TraceOrMoments(r *record.Run) (t *record.Trace, works float64, err error) {
	if t, err = r.Trace(); err == nil {
		return OfSemaphores([]*record.Trace{innermost(computingInC(placed(t), r))})[0], 0, nil
	}
	p, missing := r.Profile(record.ProfileGoroMany, record.ValueGoroutines)
	if missing != nil || p.Samples == 0 {
		return nil, 0, err
	}
	cpu, missing := r.Profile(record.ProfileCPU, record.ValueCPU)
	if missing != nil {
		cpu = nil
	}
	t, works = Moments(p, cpu)
	return innermost(t), works, nil
}

// placed returns a trace in which waits that began before it, and therefore have no stack, have the
// stack of the longest wait of the same kind: that of a goroutine that was started with the same
// function, and is woken by the same calls.
func placed(t *record.Trace) *record.Trace {
	hidden := func(w record.Wait) bool { return len(w.Stack) == 0 && len(w.WokenBy) > 0 }
	if !slices.ContainsFunc(t.Waits, hidden) {
		return t
	}
	out := *t
	out.Waits = slices.Clone(t.Waits)
	for i, w := range out.Waits {
		if !hidden(w) {
			continue
		}
		longest := -1
		for j, other := range t.Waits {
			if len(other.Stack) > 0 && other.Entry.Function == w.Entry.Function && sameCalls(other.WokenBy, w.WokenBy) && (longest < 0 || other.Seconds > t.Waits[longest].Seconds) {
				longest = j
			}
		}
		if longest >= 0 {
			out.Waits[i].Stack, out.Waits[i].Reason = t.Waits[longest].Stack, t.Waits[longest].Reason
		}
	}
	return &out
}

func sameCalls(a, b []record.Frame) bool {
	return slices.EqualFunc(a, b, func(a, b record.Frame) bool { return a.Function == b.Function })
}

// Moments makes a trace of one second from goroutine profiles, of which there is at least one. They
// do not show what ended a wait: if exactly one goroutine works outside of requests, they are assumed
// to wait for that one. works is the mean number of goroutines outside of requests that ran, or were
// ready to run. cpu shows whether system calls work or wait; nil: all work.
func Moments(p, cpu *record.Profile) (t *record.Trace, works float64) {
	t = &record.Trace{Seconds: 1}
	each := 1 / float64(p.Samples)
	groups, workers := map[string]*record.Group{}, map[string]*worker{}
	count := map[string]float64{}
	working := workingInCalls(p, cpu)
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
		ran := n * working(s.Frames)
		if ran < n {
			t.Waits = append(t.Waits, record.Wait{Stack: s.Frames, Entry: g.Entry, Seconds: n - ran, Goroutines: int(math.Ceil(n))})
			g.Waiting += n - ran
		}
		t.Running += ran
		g.Running += ran
		if !InRequest(s.Frames) && !idle(s.Frames) && root.Function != "runtime.main" {
			works += ran
		}
		count[root.Function] += n
		entry, own := Entry(s.Frames)
		if !own || root.Function == "runtime.main" || InRequest(s.Frames) || idle(s.Frames) {
			continue
		}
		if workers[entry.Function] == nil {
			workers[entry.Function] = &worker{}
		}
		w := workers[entry.Function]
		if parked(s.Frames) {
			w.add(s.Frames, n, ofFile(s.Frames) || elsewhere(s.Frames, entry))
		} else {
			w.add(s.Frames, ran, ran > 0)
			w.add(s.Frames, n-ran, false)
		}
		if ofFile(s.Frames) {
			w.files += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		g.Goroutines = int(math.Round(count[name]))
		t.Groups = append(t.Groups, *g)
	}
	only := theWorker(workers, each)
	if only == nil {
		return t, works
	}
	for i, w := range t.Waits {
		switch KindOf(w) {
		case WaitChannel, WaitSelect, WaitCond, WaitGroup:
			t.Waits[i].WokenBy, t.Waits[i].Wakers, t.Waits[i].WakerBusy = only.stack, 1, min(1, only.busy)
		}
	}
	return t, works
}

// workingInCalls returns which share of the goroutines with a stack run, or are ready to. Those that
// wait for another goroutine do not. A profile of goroutines does not show whether system calls, and C
// code, work or wait: outside of requests, those of one entry work as much as the CPU profile shows.
func workingInCalls(p, cpu *record.Profile) func(frames []record.Frame) float64 {
	inCall := func(frames []record.Frame) bool {
		return len(frames) > 0 && !parked(frames) && !InRequest(frames) && (ClassOf(frames) == Syscall || calledC(frames) != "")
	}
	in, computed := map[string]float64{}, map[string]float64{} // goroutines, cores; by entry
	if cpu != nil && cpu.Seconds > 0 {
		for _, s := range p.Stacks {
			if inCall(s.Frames) {
				in[startedWith(s.Frames)] += s.Value / float64(p.Samples)
			}
		}
		for _, s := range cpu.Stacks {
			if inCall(s.Frames) {
				computed[startedWith(s.Frames)] += s.Value / 1e9 / cpu.Seconds
			}
		}
	}
	return func(frames []record.Frame) float64 {
		switch entry := startedWith(frames); {
		case parked(frames):
			return 0
		case inCall(frames) && in[entry] > 0:
			return min(1, computed[entry]/in[entry])
		}
		return 1
	}
}

// startedWith is the function that a goroutine was started with.
func startedWith(frames []record.Frame) string {
	n := len(frames)
	if n > 1 && record.Starts(frames[n-1].Function) {
		n--
	}
	return frames[n-1].Function
}

// theWorker returns the goroutine for which the others wait: the only one that is often in a call
// to a file or, if none is, the only one that works most of the time. nil: none, or several.
func theWorker(workers map[string]*worker, each float64) *worker {
	const often, mostly = 0.25, 0.5 // shares of the moments
	one := func(of func(*worker) bool) (only *worker, several bool) {
		for _, w := range workers {
			switch {
			case !of(w):
			case only != nil || w.all > 1+each:
				return nil, true
			default:
				only = w
			}
		}
		return only, false
	}
	if w, several := one(func(w *worker) bool { return w.files >= often }); w != nil || several {
		return w
	}
	w, _ := one(func(w *worker) bool { return w.busy >= mostly })
	return w
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
	return frames[0].Function == "runtime.gopark" || What(record.Wait{Stack: frames}) == WaitDisk
}

// ofFile reports whether a goroutine changes a file or a directory, or waits for the disk to have a
// change. Reading is no evidence of that: it also waits for input, from a pipe or a terminal.
func ofFile(frames []record.Frame) bool {
	return changing.In(frames[:untilOwn(frames)]) && !polled.In(frames)
}

var (
	changing = Names{
		whole: set("syscall.Fsync", "syscall.Fdatasync", "syscall.Ftruncate", "syscall.Pwrite", "syscall.Rename",
			"golang.org/x/sys/unix.Fsync", "golang.org/x/sys/unix.Fdatasync", "golang.org/x/sys/unix.Msync",
			"golang.org/x/sys/unix.SyncFileRange", "internal/poll.(*FD).Fsync", "internal/poll.(*FD).Pwrite",
			"os.(*File).Sync", "os.(*File).Write", "os.(*File).WriteAt", "os.(*File).WriteString", "os.(*File).Truncate"),
		prefix: []string{"os.WriteFile", "os.Rename", "os.Remove"},
	}
	polled = Names{whole: set("internal/poll.runtime_pollWait")} // of a pipe, which is no file on a disk
)

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

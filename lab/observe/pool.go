package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// pools lists the pools for which goroutines waited: those of well-known libraries, and channels
// that handlers of requests use as semaphores. How large one is does not show, nor whether a function
// takes from one or several of them; so neither does the share of the time in which all of it is in use.
func (s *seen) pools() (out []Resource) {
	for _, c := range s.contentions(s.ofPool) {
		r := c.row(KindPool)
		r.Detail = "size not known"
		if h, ok := stacks.TakerOf(s.run, s.merged, c.waits); ok {
			r.InUse = max(h.Taken, s.inCallsOf(stacks.Package(c.frame.Function)))
			r.Detail += "; given back by " + h.Name()
		}
		if c.count > 0 {
			r.Detail += fmt.Sprintf("; a wait takes %s on average", millis(c.waiting/c.count))
		}
		out = append(out, r)
	}
	return out
}

// inCallsOf is the mean number of goroutines that wait in calls to database/sql for something else than
// its pool: by Little's law, at least what is in use.
func (s *seen) inCallsOf(pkg string) (mean float64) {
	if pkg != "database/sql" {
		return 0
	}
	for _, w := range s.merged.Waits {
		in := slices.ContainsFunc(w.Stack, func(f record.Frame) bool { return stacks.Package(f.Function) == pkg })
		own := stacks.What(w) == stacks.WaitLock && strings.HasPrefix(blocked(w).Function, "database/sql.(*DB).") // the pool's lock
		if kind := stacks.What(w); in && !own && kind != stacks.WaitPool && kind != stacks.WaitIdle {
			mean += w.Seconds / s.merged.Seconds
		}
	}
	return mean
}

func millis(seconds float64) string { return Number(1000*seconds) + " ms" }

func (s *seen) ofPool(w record.Wait) bool {
	return stacks.What(w) == stacks.WaitPool && !ofClient(w)
}

// ofClient reports whether a goroutine waits for a connection of an HTTP client, whose number is often
// not limited: it may wait for a new one, and get one that another gives back before.
func ofClient(w record.Wait) bool { return blocked(w).Function == "net/http.(*Transport).getConn" }

// others lists where requests and workers wait for something that is in no other row: goroutines that
// share their work, downstreams, files. What that is limited by does not show.
func (s *seen) others(rows []Resource) []Resource {
	by := map[string]*Resource{}
	most := map[string]float64{} // goroutine-seconds at the place that is named
	for _, w := range s.merged.Waits {
		kind, workers := stacks.KindOf(w), ""
		if kind == stacks.WaitBackground {
			kind, workers = s.atWorkers(w)
		}
		switch kind {
		case stacks.WaitIdle, stacks.WaitBackground, stacks.WaitTimer, stacks.WaitGC, stacks.WaitUnknown, stacks.WaitLock:
			continue
		}
		f, own := stacks.UserFrame(w.Stack)
		if !own {
			f = blocked(w)
		}
		if s.ofPool(w) || onClient(w) || slices.ContainsFunc(rows, func(r Resource) bool { return r.Kind == KindGoroutine && r.Name == started(w.WokenBy) }) {
			continue
		}
		detail := waitsFor(w, kind)
		key := strings.Join([]string{f.Function, workers, detail}, "\n")
		r := by[key]
		if r == nil {
			r = &Resource{Kind: KindWait, Name: f.Function, Workers: workers, High: 1, Detail: detail}
			by[key] = r
		}
		if w.Seconds >= most[key] {
			r.Place, most[key] = place(f), w.Seconds
		}
		r.Waiting += w.Seconds / s.merged.Seconds
		r.Waits += float64(w.Count) / s.merged.Seconds
	}
	var out []Resource
	for _, key := range slices.Sorted(maps.Keys(by)) {
		if by[key].Waiting >= quiet {
			out = append(out, *by[key])
		}
	}
	slices.SortStableFunc(out, func(a, b Resource) int { return cmp.Compare(b.Waiting, a.Waiting) })
	return out[:min(len(out), maxListed)]
}

// started is the function that a goroutine was started with; empty: not known.
func started(frames []record.Frame) string {
	if frames = unwrapped(frames); len(frames) == 0 {
		return ""
	}
	return frames[len(frames)-1].Function
}

// unwrapped returns a stack without the functions of the runtime and of libraries that start others.
func unwrapped(frames []record.Frame) []record.Frame {
	for n := len(frames); n > 1 && (record.Starts(frames[n-1].Function) || frames[n-1].Function == "runtime.main"); n-- {
		frames = frames[:n-1]
	}
	return frames
}

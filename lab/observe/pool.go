package observe

import (
	"fmt"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// pools lists the pools for which goroutines waited: those of well-known libraries, and channels
// that handlers of requests use as semaphores. While one waits, all of the pool is in use; how large it
// is does not show.
func (s *seen) pools() (out []Resource) {
	for _, c := range s.contentions(ofPool, poolName) {
		busy, low, _ := c.low.mean()
		low, _ = widened(low, 1, len(s.looks), c.count*s.merged.Seconds)
		r := Resource{Kind: KindPool, Name: c.frame.Function, Place: place(c.frame), Low: clip(low), High: 1, Waiting: c.waiting, Waits: c.count}
		if s.moments {
			r.Low, busy = 0, utilisation(c.waiting, varied)
		}
		busy = clip(busy)
		r.Busy, r.Detail = &busy, "size not known"
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
		if kind := stacks.What(w); in && kind != stacks.WaitPool && kind != stacks.WaitIdle {
			mean += w.Seconds / s.merged.Seconds
		}
	}
	return mean
}

func millis(seconds float64) string { return Number(1000*seconds) + " ms" }

// ofPool reports whether a goroutine waits for a pool. A channel is one if the goroutine of another
// request ends the wait, and not by closing it.
func ofPool(w record.Wait) bool {
	switch stacks.What(w) {
	case stacks.WaitPool:
		return true
	case stacks.WaitChannel:
		return stacks.InRequest(w.Stack) && stacks.InRequest(w.WokenBy) &&
			!slices.ContainsFunc(w.WokenBy, func(f record.Frame) bool { return f.Function == "runtime.closechan" })
	}
	return false
}

// poolName is the function that called the runtime, or for a general semaphore the one that called
// that.
func poolName(w record.Wait) record.Frame {
	f := outside(w.Stack)
	if strings.HasPrefix(f.Function, "golang.org/x/sync/") {
		if user, ok := stacks.UserFrame(w.Stack); ok && user.Function != f.Function {
			return user
		}
	}
	return f
}

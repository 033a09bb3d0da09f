package observe

import (
	"fmt"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// pools lists the pools for which goroutines waited: those of well-known libraries, and channels
// that handlers of requests use as semaphores. While one waits, all of the pool is in use. How many
// there are is not known, except for pools of database/sql on the page of metrics.
func (s *seen) pools(readings []Reading) (out []Resource) {
	out = sized(readings)
	for _, c := range s.contentions(ofPool, poolName) {
		if len(out) > 0 && out[0].Size > 0 && strings.HasPrefix(c.name, "database/sql.") {
			for i := range out { // which of them is not known, unless it is the only one
				if len(out) == 1 {
					out[i].Waiting, out[i].Waits = c.waiting, c.count
				}
			}
			continue
		}
		busy, low, _ := c.low.mean()
		_, _, high := c.high.mean()
		r := Resource{Kind: KindPool, Name: c.name, Place: place(c.frame), Low: clip(low), High: 1, Waiting: c.waiting, Waits: c.count}
		if s.moments {
			r.Low, busy = 0, high/2
		}
		busy = clip(busy)
		r.Busy, r.Detail = &busy, "size not known"
		if h, ok := stacks.TakerOf(s.run, s.merged, c.waits); ok {
			r.InUse = h.Taken
			r.Detail += "; given back by " + h.Name()
		}
		if c.count > 0 {
			r.Detail += fmt.Sprintf("; a wait takes %s on average", millis(c.waiting/c.count))
		}
		out = append(out, r)
	}
	return out
}

func millis(seconds float64) string { return fmt.Sprintf("%.3g ms", 1000*seconds) }

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

// sized returns the pools of database/sql that the page of metrics has, with their sizes.
func sized(readings []Reading) (out []Resource) {
	pages := pagesOf(readings)
	if len(pages) == 0 {
		return nil
	}
	const size, use = "go_sql_max_open_connections", "go_sql_in_use_connections"
	for _, name := range sortedNames(pages[0].Values) {
		labels, ok := strings.CutPrefix(name, size+"{")
		if max := pages[0].Values[name]; !ok || max <= 0 { // 0: without a limit
			continue
		}
		var in sample
		for _, p := range pages {
			in = append(in, p.Values[use+"{"+labels]/p.Values[name])
		}
		mean, low, high := in.mean()
		busy := clip(mean)
		out = append(out, Resource{Kind: KindPool, Name: "{" + labels, Busy: &busy, Low: clip(low), High: clip(high),
			Size: pages[0].Values[name], InUse: mean * pages[0].Values[name], Detail: "database/sql, by the page of metrics at the moments of its readings"})
	}
	return out
}

package findings

import (
	"fmt"
	"slices"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// contention finds locks that requests wait for: how long, how often, and which functions held
// them.
func contention(l *figures) []Finding {
	of, seconds := l.waits(func(w record.Wait) bool { return stacks.What(w) == stacks.WaitLock })
	held, err := l.mutexes()
	share, over := 0.0, ""
	switch {
	case l.trace != nil && l.requestTime > 0:
		share, over = seconds/l.requestTime, "of the requests' time, by the execution trace"
	case err == nil && held.Seconds > 0 && facts.InFlight(l.Profiled) > 0:
		share, over = held.Total()/1e9/held.Seconds/facts.InFlight(l.Profiled), "of the requests' time, by the mutex profile"
	}
	if share < lockShare {
		return nil
	}
	waiting := stacks.WaitSites(of)
	f := Finding{Kind: KindContention, Sites: waiting, worth: min(share, 1), Profile: record.ProfileMutex, Removes: whatif.Removal{Waits: []string{string(stacks.WaitLock)}, Time: min(share, 1)},
		Text:     fmt.Sprintf("Goroutines wait for locks %s of the requests' time", percent(min(share, 1))),
		Evidence: []Evidence{{"lock_share", round(min(share, 1)), over, "spent waiting for a mutex"}}}
	if len(waiting) > 0 {
		f.Text += ", most of it" + in(waiting)
	}
	if d := mean(of); d > 0 {
		f.Text += fmt.Sprintf(": %.0f acquisitions a second had to wait, %s each", count(of)/l.trace.Seconds, lasting(d))
		f.Evidence = append(f.Evidence, Evidence{"lock_mean_wait", round(float64(d) / 1e3), "us", "mean wait of an acquisition that had to wait"},
			Evidence{"lock_waits", round(count(of) / l.trace.Seconds), "1/s", "acquisitions that had to wait"})
	}
	f.Text += "."
	f.heldBy(l, of)
	if text := sides(of); text != "" {
		f.Text += " " + text
	}
	f.Next = "do less while it is held, or shard the data it guards by key, with a lock per shard; then dyno compare, and see whether the capacity rises"
	return []Finding{f}
}

func (l *figures) mutexes() (*record.Profile, error) {
	if l.Profiled == nil {
		return nil, fmt.Errorf("no run was profiled")
	}
	p, err := l.Profiled.Profile(record.ProfileMutex, record.ValueDelay)
	if err != nil {
		return nil, err
	}
	p = stacks.Unprofiled(p)
	if len(p.Stacks) == 0 {
		return nil, fmt.Errorf("no contention was recorded")
	}
	return p, nil
}

// heldBy adds the functions that held the locks, and what they did meanwhile.
func (f *Finding) heldBy(l *figures, of []record.Wait) {
	h, ok := stacks.HolderOf(l.Profiled, l.trace, of)
	if !h.Booked {
		f.Profile = record.ProfileBlock
	}
	if !ok {
		return
	}
	if h.Booked {
		counts, err := l.Profiled.Profile(record.ProfileMutex, record.ValueContentions)
		if n := l.requests(counts); err == nil && n > 0 {
			f.Evidence = append(f.Evidence, Evidence{"contentions_per_request", round(stacks.Unprofiled(counts).Total() / n), "unlocks", "that released a waiting goroutine"})
		}
	}
	f.Text += fmt.Sprintf(" It is held by %s (%s of the waiting)%s.", h.Name(), percent(h.Share), h.Doing())
	switch {
	case h.Costs != nil:
		f.Sites = slices.Insert(f.Sites, 0, *h.Costs)
	case len(f.Sites) == 0:
		f.Sites = []stacks.Site{h.Site}
	}
}

// sides describes which goroutines mostly wait for which at a lock that both requests (producers)
// and the service's other goroutines (consumers) use. It returns an empty text if only requests
// use the lock, or if no direction has most of the waiting.
func sides(of []record.Wait) string {
	// [waiting][ending the wait]; 0: requests, 1: the service's other goroutines
	var seconds [2][2]float64
	side := func(frames []record.Frame) int {
		if stacks.InRequest(frames) {
			return 0
		}
		return 1
	}
	all := 0.0
	for _, w := range of {
		if len(w.WokenBy) > 0 {
			seconds[side(w.Stack)][side(w.WokenBy)] += w.Seconds
			all += w.Seconds
		}
	}
	const most = 0.5
	switch {
	case all == 0 || seconds[0][1]+seconds[1][0]+seconds[1][1] == 0:
		return "" // only requests use the lock
	case seconds[1][0] > most*all:
		return "Consumers starve: mostly the service's own goroutines wait for requests to release the lock."
	case seconds[0][1] > most*all:
		return "Consumers block producers: mostly requests wait for the service's own goroutines to release the lock."
	case seconds[0][0] > most*all:
		return "Producers overload it: mostly requests wait for other requests."
	case seconds[1][1] > most*all:
		return "Mostly the service's own goroutines wait for each other."
	}
	return ""
}

// queues finds requests that wait for the goroutines at the other end of a channel or a condition,
// and reports whether those are busy or wait themselves.
func queues(l *figures) []Finding {
	if l.trace == nil || l.requestTime <= 0 {
		return nil
	}
	of, seconds := l.waits(func(w record.Wait) bool {
		switch stacks.KindOf(w) {
		case stacks.WaitChannel, stacks.WaitSelect, stacks.WaitCond, stacks.WaitGroup:
			return len(w.WokenBy) > 0
		}
		return false
	})
	share := seconds / l.requestTime
	if share < queueShare {
		return nil
	}
	longest := of[0]
	for _, w := range of {
		if w.Seconds > longest.Seconds {
			longest = w
		}
	}
	f := Finding{Kind: KindQueue, Sites: stacks.WaitSites(of), worth: min(share, 1), Removes: whatif.Removal{Waits: []string{string(stacks.KindOf(longest))}, Time: min(share, 1)},
		Text: fmt.Sprintf("Requests wait %s of their time for other goroutines%s", percent(min(share, 1)), in(stacks.WaitSites(of))),
		Evidence: []Evidence{{"queue_share", round(min(share, 1)), "of the requests' time", "spent waiting for other goroutines"},
			{"queue_mean_wait", round(float64(mean(of)) / 1e3), "us", "mean wait"}}}
	waker := "the goroutine at the other end"
	if user, ok := stacks.UserFrame(longest.WokenBy); ok {
		waker = stacks.At(user).String()
		f.Text += ", which ends when " + waker + " answers"
	}
	f.Text += "."
	behind, waits := stacks.Behind(longest, l.trace)
	switch {
	case longest.WakerBusy >= serial:
		f.Text += fmt.Sprintf(" It is busy %s of the time: requests arrive faster than %s handles them.", percent(longest.WakerBusy), goroutines(longest.Wakers))
		f.Evidence = append(f.Evidence, Evidence{"waker_busy", round(longest.WakerBusy), "of the time", "in which the goroutine that requests wait for is busy"})
		f.Next = "more goroutines at the other end, or several items at a time; then dyno compare"
	case waits:
		f.Text += fmt.Sprintf(" Those goroutines wait too, %s%s.", stacks.What(behind).Text(), in(stacks.WaitSites([]record.Wait{behind})))
		f.Next = "shorten that wait or share it between items (group commit), or more goroutines at the other end; then dyno compare"
	default:
		f.Next = "look at what " + waker + " does between two items: go tool trace of /debug/pprof/trace?seconds=1"
	}
	return []Finding{f}
}

func goroutines(n int) string {
	if n == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

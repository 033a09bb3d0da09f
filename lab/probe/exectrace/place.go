package exectrace

import (
	"time"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// systemCall is the reason of waits in system calls. All other reasons are those of the runtime.
const systemCall = "system call"

// spot identifies a place.
type spot struct {
	reason string
	stack  *stack
	entry  *entry
	// site is, of waits at an unknown place, the stack that ended them: those that the same code ends
	// are for the same.
	site *stack
}

// place is a place in the code at which goroutines waited, and the sums over their waits.
type place struct {
	spot
	waited     time.Duration
	ended      int64
	goroutines int
	together   *overlap // nil: not known

	byRuntime int64 // waits that the runtime or the observer ended
	wakers    map[*goroutine]int64
	sites     map[*stack]int64 // stacks of the wakers when they ended waits
}

// wait is a wait of one goroutine, or the part of it within the trace.
type wait struct {
	spot
	lasted time.Duration
	ended  bool       // within the trace
	waker  *goroutine // nil: the runtime
	site   *stack     // stack of the waker
	until  trace.Time
}

// enter adds a wait of a goroutine to its place.
func (s *summary) enter(g *goroutine, w wait) {
	if g.own {
		return
	}
	if w.entry = g.entry; w.entry == nil {
		w.entry = s.entryOf(record.Frame{})
	}
	at := w.spot
	if at.stack == nil && w.ended && w.waker != nil && !w.waker.own {
		at.site = w.site
	}
	p := s.places[at]
	if p == nil {
		if len(s.places) >= maxPlaces {
			s.rest += w.lasted
			return
		}
		p = &place{spot: at, together: s.together(at.stack), wakers: map[*goroutine]int64{}, sites: map[*stack]int64{}}
		s.places[at] = p
	}
	p.waited += w.lasted
	if p.together != nil {
		p.together.add(w.until-trace.Time(w.lasted), w.until)
	}
	if g.meets(p) {
		p.goroutines++
	}
	if !w.ended {
		return
	}
	p.ended++
	if w.waker == nil || w.waker.own {
		p.byRuntime++
		return
	}
	count(p.wakers, w.waker)
	count(p.sites, w.site)
}

// count increments the count of a key in a map that does not grow beyond maxWakers.
func count[K comparable](m map[K]int64, key K) {
	if _, known := m[key]; known || len(m) < maxWakers {
		m[key]++
	}
}

// most returns the key with the highest count. Of several, it returns the better one.
func most[K comparable](m map[K]int64, better func(a, b K) bool) (key K, n int64) {
	for k, c := range m {
		if c > n || c == n && better(k, key) {
			key, n = k, c
		}
	}
	return key, n
}

// record returns the place in the form of the run record. total is the length of the trace.
func (p *place) record(total time.Duration) record.Wait {
	w := record.Wait{
		Reason: p.reason, Stack: p.stack.frames(), Entry: p.entry.frame,
		Seconds: p.waited.Seconds(), Count: p.ended, Goroutines: p.goroutines,
		Wakers: len(p.wakers), Any: p.together.total().Seconds(),
	}
	if p.ended == 0 || 2*p.byRuntime > p.ended {
		return w
	}
	waker, _ := most(p.wakers, func(a, b *goroutine) bool { return a.busy() > b.busy() })
	site, _ := most(p.sites, func(a, b *stack) bool { return b == nil })
	if waker != nil {
		w.WakerBusy = min(1, (waker.busy()+waker.runnable).Seconds()/total.Seconds())
		w.WakerReady = min(1, waker.runnable.Seconds()/total.Seconds())
	}
	w.WokenBy = site.frames()
	return w
}

package observe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// contended is what goroutines wait for in one or more functions: a lock or a pool, or several.
type contended struct {
	frame record.Frame // of the function where one place has most of the waiting
	most  float64      // there, goroutine-seconds
	waits []record.Wait
	// Of each look: low is the time with at least one waiting goroutine in the function where that is
	// longest, and high the sum over the functions, as shares; together they bound the time with at
	// least one waiting goroutine.
	low, high  sample
	waiting    float64 // goroutine-seconds per second
	count      float64 // waits that ended, per second
	goroutines int     // that waited at one place in a look, at most
	readers    bool    // some may hold it together
}

// contentions groups waits by the function that called what synchronises, the longest waiting first.
func (s *seen) contentions(of func(record.Wait) bool) []*contended {
	by, alias := map[string]*contended{}, s.aliases(of)
	for i, t := range s.looks {
		counted := map[string]float64{} // of each function
		for _, w := range t.Waits {
			if !of(w) {
				continue
			}
			frame := blocked(w)
			key := alias(frame.Function)
			c := by[key]
			if c == nil {
				c = &contended{frame: frame, low: make(sample, len(s.looks)), high: make(sample, len(s.looks))}
				by[key] = c
			}
			c.waits = append(c.waits, w)
			if w.Seconds > c.most {
				c.frame, c.most = frame, w.Seconds
			}
			c.low[i] = max(c.low[i], w.Any/t.Seconds)
			c.high[i] += max(0, w.Any-counted[frame.Function]) / t.Seconds
			counted[frame.Function] = max(counted[frame.Function], w.Any)
			c.waiting += w.Seconds / s.merged.Seconds
			c.count += float64(w.Count) / s.merged.Seconds
			c.goroutines = max(c.goroutines, w.Goroutines)
			c.readers = c.readers || slices.ContainsFunc(w.Stack, func(f record.Frame) bool { return strings.HasPrefix(f.Function, "sync.(*RWMutex).") })
		}
	}
	out := slices.SortedFunc(maps.Values(by), func(a, b *contended) int {
		return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(a.frame.Function, b.frame.Function))
	})
	return out[:min(len(out), maxListed)]
}

// row is the row of a contended lock or pool, of which the share is not known.
func (c *contended) row(kind string) Resource {
	waits, _, _ := c.low.mean()
	return Resource{Kind: kind, Name: c.frame.Function, Place: place(c.frame), High: 1, Waiting: c.waiting, Waits: c.count, AnyWaits: clip(waits)}
}

// aliases names functions that wait for the same alike: one of them ends waits of another.
func (s *seen) aliases(of func(record.Wait) bool) func(string) string {
	waits, alias := map[string]bool{}, map[string]string{}
	for _, w := range s.merged.Waits {
		if of(w) && len(w.Stack) > 0 {
			waits[blocked(w).Function] = true
		}
	}
	name := func(function string) string {
		for alias[function] != "" {
			function = alias[function]
		}
		return function
	}
	for _, w := range s.merged.Waits {
		a, b := blocked(w).Function, outside(w.WokenBy).Function
		if of(w) && waits[a] && waits[b] && name(a) != name(b) {
			alias[name(a)] = name(b)
		}
	}
	return name
}

const maxListed = 10 // rows of each kind

// blocked returns the function that called what synchronises: its callers share the lock.
func blocked(w record.Wait) record.Frame { return outside(w.Stack) }

func outside(frames []record.Frame) record.Frame {
	for _, f := range frames {
		if !record.Synchronises(f.Function) {
			return f
		}
	}
	return record.Frame{Function: "an unknown function"}
}

// locks lists the locks for which goroutines waited. While one waits, the lock is held; it is also
// held while none waits. If requests come at random, the share of the time in which it is held is at
// most what it would be if each held it for the same time (M/D/1). That is not so where few take it,
// since they may take turns, nor where readers hold it together.
//
// The waits do not show which of several locks a function takes, as of shards or connections. It may be
// one if the code between taking and releasing it runs as often as the waiting for one permits. Only
// then there is an estimate: the time in which that code runs or waits. It holds if it is one lock: of
// several whose takers come in bursts, the sums look the same.
func (s *seen) locks() (out []Resource) {
	ofLock := func(w record.Wait) bool { return stacks.What(w) == stacks.WaitLock }
	for _, c := range s.contentions(ofLock) {
		r := c.row(KindLock)
		_, low, _ := c.low.mean()
		_, _, high := c.high.mean()
		low, high = widened(low, high, len(s.looks), c.count*s.merged.Seconds)
		if c.goroutines >= several && !c.readers && !s.moments && c.amongThemselves() {
			r.High = steady(clip(high))
		}
		held, shown := 0.0, 0.0
		for i, h := range stacks.HoldersOf(s.run, s.merged, c.waits) {
			if i == 0 {
				r.Detail = "released by " + h.Name() + h.Doing()
			}
			if h.Busy > 0 {
				held, shown = held+h.Taken, shown+h.Share
			}
		}
		switch {
		case held > tolerated*r.High:
			r.Detail += fmt.Sprintf("; %.1f goroutines at a time are between taking and releasing it, so there are several locks, or it is also released in between", held)
		case shown >= nearlyAll && held*tolerated >= clip(low) && !stacks.Standard(c.frame.Function):
			r.Low = clip(low)
			r.Busy = new(min(max(held, r.Low), r.High))
		}
		out = append(out, r)
	}
	return out
}

// amongThemselves reports whether those that wait for a lock are nearly always those that hold it: another function may
// hold it without ever waiting.
func (c *contended) amongThemselves() bool {
	takes, all, own := map[string]bool{}, 0.0, 0.0
	for _, w := range c.waits {
		takes[blocked(w).Function] = true
	}
	for _, w := range c.waits {
		if all += w.Seconds; takes[outside(w.WokenBy).Function] {
			own += w.Seconds
		}
	}
	return own >= nearlyAll*all
}

// tolerated is by how much the time in which a lock's code runs may differ from what the waiting for it
// permits: of both, a short look has few samples.
const tolerated = 1.5

// nearlyAll is the share of the waits for a lock for which the code is known that runs meanwhile.
const nearlyAll = 0.9

// several is the number of goroutines from which their turns are as good as random.
const several = 4

// steady solves share = 1 - (1-u) e^u: the probability that at least one waits in M/D/1.
func steady(share float64) float64 {
	low, high := share, 1.0
	for range 50 {
		u := (low + high) / 2
		if 1-(1-u)*math.Exp(u) < share {
			low = u
		} else {
			high = u
		}
	}
	return high
}

func place(f record.Frame) string {
	if f.File == "" {
		return ""
	}
	return path.Base(f.File) + ":" + strconv.Itoa(f.Line)
}

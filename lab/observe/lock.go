package observe

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// contended is what goroutines wait for in one or more functions: a lock or a pool.
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
}

// contentions groups waits by the function that called the runtime or package sync, the longest
// waiting first.
func (s *seen) contentions(of func(record.Wait) bool, name func(record.Wait) record.Frame) []*contended {
	by, alias := map[string]*contended{}, s.aliases(of, name)
	for i, t := range s.looks {
		counted := map[string]float64{} // of each function
		for _, w := range t.Waits {
			if !of(w) {
				continue
			}
			frame := name(w)
			key := cmp.Or(alias[frame.Function], frame.Function)
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
		}
	}
	out := slices.SortedFunc(maps.Values(by), func(a, b *contended) int {
		return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(a.frame.Function, b.frame.Function))
	})
	return out[:min(len(out), maxListed)]
}

// aliases maps functions that wait for the same to one name, that of their type: one of them ends
// waits of another, and both are its methods.
func (s *seen) aliases(of func(record.Wait) bool, name func(record.Wait) record.Frame) map[string]string {
	waits, alias := map[string]bool{}, map[string]string{}
	for _, w := range s.merged.Waits {
		waits[name(w).Function] = waits[name(w).Function] || of(w)
	}
	for _, w := range s.merged.Waits {
		a, b := name(w).Function, outside(w.WokenBy).Function
		if r := receiver(a); of(w) && a != b && waits[b] && r != "" && r == receiver(b) {
			alias[a], alias[b] = r, r
		}
	}
	return alias
}

const maxListed = 10 // locks, pools and goroutines, each

// receiver returns the package and type of a method; empty: it is none.
func receiver(function string) string {
	return function[:strings.LastIndexByte(function, ')')+1]
}

// blocked returns the function that called the runtime or package sync: its callers share the lock.
func blocked(w record.Wait) record.Frame { return outside(w.Stack) }

func outside(frames []record.Frame) record.Frame {
	for _, f := range frames {
		if p := stacks.Package(f.Function); p != "runtime" && p != "sync" && p != "internal/sync" {
			return f
		}
	}
	return record.Frame{Function: "an unknown function"}
}

// locks lists the locks for which goroutines waited. While one waits, the lock is held; it is also
// held while none waits. If requests come at random, the share of the time in which it is held is at
// most what it would be if each held it for the same time (M/D/1), and the square root of the share
// with a waiting one if these times vary as widely as exponential ones (M/M/1).
func (s *seen) locks() (out []Resource) {
	ofLock := func(w record.Wait) bool { return stacks.What(w) == stacks.WaitLock }
	for _, c := range s.contentions(ofLock, blocked) {
		r := Resource{Kind: KindLock, Name: c.frame.Function, Place: place(c.frame), Waiting: c.waiting, Waits: c.count}
		mean, low, _ := c.low.mean()
		most, _, high := c.high.mean()
		busy := math.Sqrt((mean + clip(most)) / 2)
		low, high = widened(low, high, len(s.looks), c.count*s.merged.Seconds)
		r.Low, r.High = clip(low), steady(clip(high))
		switch {
		case s.moments:
			busy, r.Low, r.High = utilisation(c.waiting, varied), 0, utilisation(c.waiting, 0)
		case c.goroutines < several:
			busy, r.High = mean, 1 // so few may take turns, and then hardly wait
		}
		h, found := stacks.HolderOf(s.run, s.merged, c.waits)
		if found {
			r.Detail = "released by " + h.Name() + h.Doing()
		}
		switch {
		case h.Busy > 0 && h.Busy <= tolerated*r.High:
			busy, r.High = h.Busy, max(h.Busy, r.High) // as long as its code ran or waited
		case h.Busy > 0:
			r.Detail += "; its code runs " + Percent(h.Busy) + " of the time: several locks of one kind, or goroutines that take turns"
		}
		busy = min(max(busy, r.Low), r.High)
		r.Busy = &busy
		out = append(out, r)
	}
	return out
}

// tolerated is by how much the time in which a lock's code runs may be above what the waiting for it
// permits: of both, a short look has few samples.
const tolerated = 1.5

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

// varied is the squared coefficient of variation of exponential times.
const varied = 1.0

// utilisation is the share of the time in which a lock is held for which q goroutines wait on
// average, if they come at random (M/G/1): it solves q = u^2 (1+c2) / (2 (1-u)). c2 is the squared
// coefficient of variation of the time for which it is held.
func utilisation(q, c2 float64) float64 {
	k := (1 + c2) / 2
	return (math.Sqrt(q*q+4*k*q) - q) / (2 * k)
}

func place(f record.Frame) string {
	if f.File == "" {
		return ""
	}
	return path.Base(f.File) + ":" + strconv.Itoa(f.Line)
}

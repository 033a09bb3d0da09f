package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// facts are what was seen of a process while it served a share of what it can, from inside and from
// /proc.
type facts struct {
	rate       float64 // requests per second
	cores      float64 // of the machine
	others     float64 // cores that processes used which have nothing to do with the load
	service    float64 // cores
	generator  float64 // cores: it is on the same machine, so its use grows with the service's
	background float64 // cores of the service that do not grow with the load; 0: not known
	trace      *record.Trace
}

// ceiling is what serves one request at a time, and how much of the time it does.
type ceiling struct {
	Kind  string  `json:"kind"` // lock | goroutine
	Place string  `json:"place"`
	Busy  float64 `json:"busy"`
	// Low and High bound the factor by which the rate can grow until it is always busy.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// bracket is a forecast: by which factor the rate can grow.
type bracket struct {
	AtLeast float64 `json:"at_least"`
	AtMost  float64 `json:"at_most,omitempty"` // 0: no ceiling was seen
	First   string  `json:"first"`             // the kind of what is expected to give first: cpu, lock or goroutine

	CPU      float64   `json:"cpu"` // the factor that the CPU alone permits, at the CPU time that a request takes now
	Ceilings []ceiling `json:"ceilings,omitempty"`
}

// leastBusy is the share of the time below which a lock or a goroutine forecasts nothing: a trace
// of half a second has too few of its waits.
const leastBusy = 0.05

func forecast(f facts) bracket {
	b := bracket{First: "cpu", CPU: (f.cores - f.others - f.background) / max(f.service+f.generator-f.background, 1e-9)}
	if f.trace != nil && f.trace.Seconds > 0 {
		b.Ceilings = append(locks(f.trace), goroutines(f)...)
	}
	slices.SortFunc(b.Ceilings, func(x, y ceiling) int { return cmp.Compare(x.High, y.High) })
	b.AtLeast = b.CPU
	if len(b.Ceilings) > 0 {
		first := b.Ceilings[0]
		b.AtMost = first.High
		if first.Low < b.CPU {
			b.AtLeast, b.First = first.Low, first.Kind
		}
	}
	return b
}

// Squared coefficients of variation of the time for which a lock is held: never, and much.
const (
	steady = 0.0
	varied = 3.0
)

// locks sizes the locks for which goroutines waited. With Poisson arrivals (M/G/1) the mean number
// that waits is q = u^2 (1+c^2) / (2 (1-u)), of which the trace has q, and u, the share of the time
// in which the lock is held, follows for a given variation c^2. Places that wait behind one line
// are one lock.
func locks(t *record.Trace) (out []ceiling) {
	waiting := map[string]float64{} // goroutine-seconds, by place
	for _, w := range t.Waits {
		if stacks.What(w) != stacks.WaitLock {
			continue
		}
		place := "?"
		if f, ok := stacks.UserFrame(w.Stack); ok {
			place = f.Function
		}
		waiting[place] += w.Seconds
	}
	for place, seconds := range waiting {
		q := seconds / t.Seconds
		most, least := utilisation(q, steady), utilisation(q, varied)
		if most < leastBusy {
			continue
		}
		out = append(out, ceiling{"lock", place, (most + least) / 2, 1 / most, 1 / least})
	}
	return out
}

// utilisation solves q = u^2 k / (1-u), k = (1+c^2)/2.
func utilisation(q, c2 float64) float64 {
	k := (1 + c2) / 2
	return (math.Sqrt(q*q+4*k*q) - q) / (2 * k)
}

// goroutines sizes those that are alone in running their function: what they do not wait for work,
// they are busy. One that takes several requests each time it wakes is no ceiling, since it takes
// more when there are more.
func goroutines(f facts) (out []ceiling) {
	t := f.trace
	for _, g := range t.Groups {
		if g.Goroutines != 1 || stacks.Standard(g.Entry.Function) || strings.HasPrefix(g.Entry.Function, "runtime.") {
			continue
		}
		idle, wakes := 0.0, int64(0)
		for _, w := range t.Waits {
			if w.Entry != g.Entry {
				continue
			}
			if forWork(w) {
				idle, wakes = idle+w.Seconds, wakes+w.Count
			}
		}
		busy := 1 - idle/t.Seconds
		batches := float64(wakes)/t.Seconds < batching*f.rate
		if busy < leastBusy || batches && busy < alwaysBusy {
			continue
		}
		out = append(out, ceiling{"goroutine", g.Entry.Function, busy, 1 / busy, 1 / busy})
	}
	return out
}

// forWork reports whether a goroutine waits for more to do, or for the next tick of its timer.
func forWork(w record.Wait) bool {
	switch stacks.What(w) {
	case stacks.WaitIdle, stacks.WaitChannel, stacks.WaitSelect, stacks.WaitCond:
		return true
	}
	return stacks.What(w) == stacks.WaitTimer && w.Reason != "sleep"
}

const (
	batching   = 0.5  // wake-ups per request below which a goroutine takes several at a time
	alwaysBusy = 0.95 // share of the time from which it hardly wakes up because it never waits
)

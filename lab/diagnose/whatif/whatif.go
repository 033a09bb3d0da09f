// Package whatif estimates the most that a change can bring before it is made: by how much the
// throughput of a saturated service can rise without a cost that a profile or a trace shows, and
// what bounds it then. Each model gives an upper bound, and an estimate says what it rests on, or
// which figure is missing.
//
// Every function depends on figures alone. The package is not for the verdict (package diagnose),
// nor for finding the costs (package findings). It starts no goroutines.
package whatif

import (
	"math"
	"slices"

	"dyno/lab/diagnose/rules"
)

// Facts are the figures of a saturated service from which the models estimate.
type Facts struct {
	Bottleneck rules.Bottleneck
	Kind       string // of a wait, or of a lock
	Name       string // of the bound, within a sentence: "a lock"
	CPU        CPU
	// Computes is the share of the target's CPU time that its code takes, without what the kernel,
	// the scheduler, channels and locks take: those may take less when nothing waits; 0: unknown.
	Computes float64
	Others   []Limit // further resources that are partly used up
	// WorkersWait is the share of the workers' time in the wait that bounds them; 0: the requests
	// wait themselves.
	WorkersWait float64
	// UsedUp means that the CPU is used up although the bottleneck is a wait, unknown, or other
	// processes. Then the CPU may be the bottleneck too: what the requests wait for may be short of
	// CPU, such as another process on the same machine.
	UsedUp bool
	// Rising means that more clients still raised the throughput, so that no limit was reached.
	Rising   bool
	Sessions bool // the load is connections that stay open, and each sends at the same rate
}

// Limit is a resource that serves one request at a time: a lock, or a goroutine that works for all
// requests.
type Limit struct {
	Name     string
	Busy     float64 // share of the time in which it is in use
	Computes float64 // the part of Busy in which its user computes
}

// Removal is what a change takes away.
type Removal struct {
	CPU    float64  // share of the target's CPU time
	CPUOf  string   // what spends it, after "of the CPU time is": "in main.f (f.go:12)"
	Waits  []string // kinds of wait that end
	Part   float64  // share of that wait, or of the holding of a lock, that ends; 0: all of it
	PartOf string   // where that share of the holding is spent: "in (*os.File).Sync"
	Others float64  // cores of other processes that are no longer used
	Time   float64  // share of the requests' time that they wait there; 0: unknown
	// Missing is the figure that a model would need; empty: nothing is missing.
	Missing string
}

// OrMissing returns the removal, with Missing set if nothing of it was measured.
func (r Removal) OrMissing() Removal {
	if r.CPU == 0 && len(r.Waits) == 0 && r.Time == 0 && r.Missing == "" {
		r.Missing = "its cost for each request, in CPU time or waiting"
	}
	return r
}

// Models.
const (
	Amdahl    = "amdahl" // the CPU is used up: a request takes less of it
	Holder    = "holder" // a lock or a goroutine bounds: a request keeps it for less time
	Little    = "little" // the requests or workers that wait are limited in number: they wait less
	Elsewhere = "beside" // what is removed is not the bottleneck
	None      = "none"   // a figure is missing
)

// Estimate is the most that a removal can bring.
type Estimate struct {
	Model string `json:"model"` // one of the constants
	// AtMost is the ratio of the throughput after to that before, at most; 0: unknown.
	AtMost float64 `json:"at_most,omitempty"`
	// Alone is the same for a service that shares its CPUs neither with the load generator and its
	// dependencies nor with other processes; 0: about the same.
	Alone   float64 `json:"at_most_alone,omitempty"`
	CPU     float64 `json:"cpu_per_request,omitempty"` // ratio of the CPU per request, at least; 0: not known
	Then    string  `json:"then,omitempty"`            // what bounds the service then
	Missing string  `json:"missing,omitempty"`
	Text    string  `json:"in_words"`
}

// mostCPU is the largest share of the CPU time that a change can remove: answering a request
// always costs some.
const mostCPU = 0.99

// Without estimates the most that a removal brings. The resource that is used up first bounds the
// throughput, so the estimate is the lowest of the known ceilings. A ceiling that was not measured
// may be lower: the estimate is an upper bound, not a forecast.
func (f Facts) Without(r Removal) Estimate {
	r.CPU = min(max(r.CPU, 0), mostCPU)
	e := Estimate{Model: None, Missing: f.missing(r)}
	if r.CPU > 0 {
		e.CPU = 1 - r.CPU
	}
	if e.Missing == "" {
		e.Model = f.model(r)
		lowest := f.lowest(r)
		e.AtMost, e.Then = max(1, lowest.times), lowest.name
		apart := f
		apart.CPU = f.CPU.alone()
		apart.UsedUp = f.UsedUp && apart.CPU.UsedUp()
		const same = 1.1 // a smaller difference is not mentioned
		if alone := apart.lowest(r).times; alone > same*e.AtMost {
			e.Alone = alone
		}
	}
	e.Text = f.text(r, e)
	return e
}

// ends reports whether a removal ends the wait, or the wait for the lock, that bounds the service.
func (f Facts) ends(r Removal) bool { return f.waits() && slices.Contains(r.Waits, f.kind()) }

// keeps reports whether the wait or lock still sets a ceiling after a removal that ends it in part.
func (f Facts) keeps(r Removal) bool {
	_, left := f.left(r)
	return left && !f.UsedUp
}

// missing names the figure without which no model applies; empty: none is missing.
func (f Facts) missing(r Removal) string {
	switch {
	case f.Bottleneck == rules.Generator:
		return "the service's own bound: the load generator was the limit"
	case f.Bottleneck == rules.NotLoaded:
		return "a bound: the service would carry more load"
	case !f.computes() && !f.waits() && !f.UsedUp:
		return "the bound: what limits the throughput is unknown"
	case r.Missing != "":
		return r.Missing
	case f.waits() && f.Rising:
		return "a bound: more clients still raised the throughput"
	case f.CPU.Target <= 0:
		return "the CPU that the service uses, which may bound it next"
	case f.ends(r) && f.Computes <= 0 && !f.keeps(r):
		return "the CPU that a request takes when it does not wait, which a CPU profile bounds"
	}
	return ""
}

// computes reports whether the CPU bounds the service, whatever it is used for.
func (f Facts) computes() bool {
	return f.Bottleneck == rules.CPU || f.Bottleneck == rules.GC || f.Bottleneck == rules.Syscall || f.Bottleneck == rules.Lock && f.Kind == rules.Spun
}

func (f Facts) waits() bool {
	return f.Bottleneck == rules.Wait || f.Bottleneck == rules.Lock && f.Kind != rules.Spun
}

// kind is the kind of wait that bounds the service.
func (f Facts) kind() string {
	if f.Bottleneck == rules.Lock {
		return string(rules.Lock)
	}
	return f.Kind
}

func (f Facts) model(r Removal) string {
	switch {
	case f.computes() && r.CPU == 0:
		return Elsewhere
	case f.computes():
		return Amdahl
	case slices.Contains(r.Waits, f.kind()):
		if f.Bottleneck == rules.Lock {
			return Holder
		}
		return Little
	case r.CPU > 0 && Computed(f.kind()):
		return Holder
	case r.CPU > 0 && f.UsedUp:
		return Amdahl
	}
	return Elsewhere
}

// Computed reports whether a kind of wait is for another goroutine. That goroutine may be
// computing, so removing CPU time may shorten the wait.
func Computed(kind string) bool {
	return slices.Contains([]string{string(rules.Lock), "channel", "select", "cond", "waitgroup"}, kind)
}

// ceiling is the throughput that a resource permits, as a multiple of the present one.
type ceiling struct {
	times float64
	name  string
}

// lowest is the ceiling that is reached first.
func (f Facts) lowest(r Removal) ceiling {
	cpu := ceiling{f.CPU.times(r), "the CPU"}
	switch {
	case f.ends(r) && f.Computes > 0:
		cpu.times = f.CPU.without(f.Computes).times(r)
	case f.ends(r):
		cpu.times = math.Inf(1) // unknown; the wait itself sets a ceiling
	case f.computes() || f.UsedUp:
		cpu.times /= f.CPU.times(Removal{}) // it is used up now, even if not to the last percent
	}
	all := []ceiling{cpu}
	for _, o := range f.Others {
		if left := o.Busy - min(o.Computes, r.CPU*f.CPU.Target); left > 0 {
			all = append(all, ceiling{1 / left, o.Name})
		}
	}
	switch f.model(r) {
	case Little, Holder:
		if own, left := f.left(r); left && !f.UsedUp {
			all = append(all, ceiling{own, f.Name})
		}
	case Elsewhere:
		if f.waits() {
			all = append(all, ceiling{f.around(), f.Name})
		}
	}
	return slices.MinFunc(all, func(a, b ceiling) int {
		if a.times < b.times {
			return -1
		}
		return 1
	})
}

// left is the ceiling that the wait or lock at the bottleneck still sets after the removal; false:
// nothing of it is left, or it is unknown whether something is.
func (f Facts) left(r Removal) (float64, bool) {
	part := r.Part
	if part <= 0 || part > 1 {
		part = 1
	}
	if f.WorkersWait > 0 { // the rest of the workers' time stays
		part *= f.WorkersWait
	}
	if !slices.Contains(r.Waits, f.kind()) || part >= 1 {
		return 0, false
	}
	return 1 / (1 - part), true
}

// around is the ceiling if the wait at the bottleneck stays. Workers can save at most the rest of
// their time, outside that wait; for requests in a queue nothing is gained, since they only wait
// longer.
func (f Facts) around() float64 {
	if f.WorkersWait > 0 {
		return 1 / f.WorkersWait
	}
	return 1
}

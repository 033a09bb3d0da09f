// Package observe computes how busy each resource of a running Go process is, from what its debug
// address shows while it serves its ordinary load: the CPU, each lock, each single goroutine, each
// pool. It also lists what these looks cannot show.
//
// It is not for forecasts of the load that the process could carry (docs/reference/diagnosis-accuracy.md says
// how often those held), nor for taking profiles (cmd/dyno/looks does) or for a verdict at a known load (diagnose). It
// reads and writes nothing, and starts no goroutines.
package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// Facts are what was seen of a process.
type Facts struct {
	Seconds  float64 // of the whole observation
	Looks    []Look
	Planned  int       // number of looks, if none is cut short
	Readings []Reading // counters, in order of time
	Counter  string    // of Page.Values that counts requests; empty: the likeliest
	Rate     float64   // requests/s as the user knows them; 0: not given
	Quota    float64   // cores that the control groups of the process grant it; 0: no limit, or not known
	Fetched  int64     // bytes of all answers
	InUse    int       // times at which another client's profile or trace had to end first
	Missing  []string  // what could not be taken, and why
}

// Look is what was taken within one or two seconds. Each may be nil.
type Look struct {
	CPU     *record.Profile
	Trace   *record.Trace
	Moments *record.Profile // of goroutines, where there is no trace
}

// Report is how busy a process was.
type Report struct {
	Schema  string  `json:"schema"`
	Summary string  `json:"summary"` // the busiest resource, in words
	Seconds float64 `json:"seconds"` // of the whole observation
	Looks   int     `json:"looks"`
	Planned int     `json:"planned_looks"` // more than looks: it ended early
	Traced  float64 `json:"traced_s"`      // length of all traces

	Resources []Resource `json:"resources"` // the busiest first; those of an unknown share last
	CPU       CPU        `json:"cpu"`
	GC        *float64   `json:"gc_share"` // of the CPU that the process uses; null: not known, or of fewer than 20 samples
	// Ready is the mean number of goroutines that could run and had no processor, and ReadyMicros what that is for each
	// wait that ended: at least the time until a goroutine runs then, on average, since those that were preempted or have
	// begun are among them; null: not known.
	Ready       *float64 `json:"ready"`
	ReadyMicros *float64 `json:"ready_us"`
	Memory      Memory   `json:"memory"`
	Rate        *Rate    `json:"rate"` // null: not known
	Cost        Cost     `json:"cost"`
	NotSeen     []string `json:"not_seen"`
}

// Kinds of resource.
const (
	KindCPU       = "cpu"
	KindLock      = "lock"
	KindGoroutine = "goroutine"
	KindPool      = "pool"
	KindWait      = "wait" // for something that is none of these
)

// Resource is what requests share.
type Resource struct {
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"` // function: that waits, or that a goroutine was started with
	Place string `json:"place,omitempty"`
	// Workers is the function that the waiting goroutines were started with; empty: they are those of requests.
	Workers string `json:"workers,omitempty"`
	// Busy is the share of the time in which it is in use, of a pool in which all of it is in use, of a
	// lock if it is one; null: not known, and a lock or a pool may be several of one kind. It is
	// between Low and High.
	Busy  *float64 `json:"busy"`
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	Looks int      `json:"looks"` // that show it; of one, equal Low and High are no range
	// Waiting is the mean number of goroutines that wait for it, and Waits the number of waits per
	// second.
	Waiting float64 `json:"waiting,omitempty"`
	Waits   float64 `json:"waits_per_s,omitempty"`
	// AnyWaits is the share of the time in which at least one goroutine waits for it.
	AnyWaits float64 `json:"any_waits,omitempty"`
	InUse    float64 `json:"in_use,omitempty"` // mean number of a pool's that are in use; 0: not known
	Detail   string  `json:"detail,omitempty"`
}

// Of reports on a process.
func Of(f Facts) *Report {
	r := &Report{Schema: "dyno.observation/1", Seconds: f.Seconds, Looks: len(f.Looks), Planned: f.Planned}
	f = f.own()
	s := seenIn(f)
	if !s.moments {
		r.Traced = s.merged.Seconds
	}
	r.CPU = s.cpu(f)
	r.Rate = s.rate(f)
	if shares := stacks.ClassShares(s.profile); shares != nil && stacks.Unprofiled(s.profile).Total()/1e9 >= leastProfiled {
		r.GC = new(shares[stacks.GC])
	}
	s.ready(r)
	r.Memory = s.memory(f.Readings)
	r.Cost = s.cost(f, r.CPU)
	r.Resources = append(r.Resources, s.resourceCPU(r.CPU))
	r.Resources = append(r.Resources, s.locks()...)
	r.Resources = append(r.Resources, s.goroutines()...)
	r.Resources = append(r.Resources, s.pools()...)
	r.Resources = append(r.Resources, s.others(r.Resources)...)
	for i, o := range r.Resources {
		if r.Resources[i].Looks = len(s.looks); o.Kind == KindCPU {
			r.Resources[i].Looks = len(f.Looks)
		}
	}
	slices.SortStableFunc(r.Resources, func(a, b Resource) int { return cmp.Compare(b.rank(), a.rank()) })
	r.Summary = summary(r)
	r.NotSeen = notSeen(f, s, r)
	return r
}

func (r Resource) rank() float64 {
	switch {
	case r.Busy != nil:
		return *r.Busy
	case r.Kind == KindGoroutine:
		return r.High - 2
	}
	return r.AnyWaits - 2
}

// seen is what all looks show together.
type seen struct {
	looks    []*record.Trace // one for each look that has one, or an estimate of one from its goroutine profiles
	moments  bool            // looks are estimates
	merged   *record.Trace   // waits and sums of all looks
	profile  *record.Profile // CPU samples of all looks
	profiles []*record.Profile
	run      *record.Run // with both, for package stacks
	live     float64     // goroutines, on average
}

func seenIn(f Facts) *seen {
	s := &seen{merged: &record.Trace{}, profile: &record.Profile{Type: record.ValueCPU}}
	s.moments = !slices.ContainsFunc(f.Looks, func(l Look) bool { return l.Trace != nil })
	for _, l := range f.Looks {
		if l.CPU != nil {
			s.profiles = append(s.profiles, l.CPU)
			s.profile.Stacks = append(s.profile.Stacks, l.CPU.Stacks...)
			s.profile.Seconds += l.CPU.Seconds
		}
		t := l.Trace
		if s.moments && l.Moments != nil {
			t = estimated(l.Moments)
		} else if t != nil {
			t, _ = stacks.Trace(&record.Run{FixtureTrace: t})
		}
		if t == nil || t.Seconds <= 0 {
			continue
		}
		s.looks = append(s.looks, t)
	}
	s.looks = stacks.OfSemaphores(s.looks)
	for _, t := range s.looks {
		m := s.merged
		m.Seconds, m.Procs = m.Seconds+t.Seconds, max(m.Procs, t.Procs)
		m.Running, m.Runnable = m.Running+t.Running, m.Runnable+t.Runnable
		m.Rest += t.Rest
		m.Waits, m.Groups = append(m.Waits, t.Waits...), append(m.Groups, t.Groups...)
		for _, g := range t.Groups {
			s.live += lived(g)
		}
	}
	if s.merged.Seconds > 0 {
		s.live /= s.merged.Seconds
	}
	s.run = &record.Run{FixtureProfiles: []*record.Profile{s.profile}, FixtureTrace: s.merged}
	return s
}

// lived is the time in which the goroutines of a group existed, in goroutine-seconds.
func lived(g record.Group) float64 { return g.Running + g.Runnable + g.Waiting + g.Syscall }

func (s *seen) ready(r *Report) {
	if s.moments || s.merged.Seconds <= 0 {
		return
	}
	r.Ready = new(s.merged.Runnable / s.merged.Seconds)
	woken := int64(0)
	for _, w := range s.merged.Waits {
		woken += w.Count
	}
	if woken > 0 {
		r.ReadyMicros = new(1e6 * s.merged.Runnable / float64(woken))
	}
}

// quiet is the share of the time up to which nothing is called busy.
const quiet = 0.05

// summary names the busiest resource of those whose share is known, and those that may be as busy.
func summary(r *Report) string {
	known := len(r.Resources) > 0 && r.Resources[0].Busy != nil
	text, rest, bar, perhaps := "how busy its resources are is not known", r.Resources, 0.0, "; perhaps busy: "
	if known {
		rest, perhaps = r.Resources[1:], "; perhaps as busy: "
		if r.Resources[0].Kind != KindLock { // of which the share holds if it is one
			bar = r.Resources[0].Low
		}
	}
	var others []string
	unknown, more := false, 0
	for _, o := range rest {
		switch {
		case o.High < quiet, o.High <= bar, o.Kind == KindCPU && o.Busy == nil:
		case o.Busy == nil && o.Kind != KindGoroutine && o.Kind != KindCPU && o.Waiting < quiet:
			continue // hardly anything waits for it
		case len(others) == 3:
			more++
		default:
			others = append(others, o.words()+o.sure(""))
		}
		unknown = unknown || o.Busy == nil && o.High > bar
	}
	if known {
		first, looks := r.Resources[0], "; one look only"
		if first.Looks > 1 {
			looks = fmt.Sprintf("; %d looks", first.Looks)
		}
		text = first.words() + first.sure(looks)
		switch {
		case len(others) == 0 && first.High < quiet:
			text = "nothing that shows is busy; the busiest is " + text
		case unknown:
			text = "the busiest of what is known is " + text
		default:
			text = "the busiest is " + text
		}
	}
	if len(others) == 0 {
		return text
	}
	if more > 0 {
		others = append(others, fmt.Sprintf("%d more", more))
	}
	return text + perhaps + strings.Join(others, ", and ")
}

func (r Resource) words() string {
	switch {
	case r.Kind == KindWait:
		return fmt.Sprintf("%s, %.1f at a time", r.What(), r.Waiting)
	case r.Busy == nil && r.AnyWaits > 0:
		return r.What() + ", with at least one waiting goroutine for " + Percent(r.AnyWaits) + " of the time"
	case r.Busy == nil:
		return "the " + r.What()
	}
	return "the " + r.What() + map[string]string{KindLock: ", held ", KindGoroutine: ", busy ", KindCPU: ", "}[r.Kind] + Percent(*r.Busy) +
		map[string]string{KindLock: " of the time if it is one lock", KindGoroutine: " of the time", KindCPU: " in use"}[r.Kind]
}

// What names a resource.
func (r Resource) What() string {
	at := r.Name
	if r.Place != "" {
		at += " (" + r.Place + ")"
	}
	switch r.Kind {
	case KindLock:
		if r.Busy == nil {
			return "one or several locks in " + at
		}
		return "lock in " + at
	case KindGoroutine:
		return "single goroutine " + at
	case KindPool:
		return "one or several pools in " + at
	case KindWait:
		of := "requests"
		switch r.Workers {
		case "":
		case r.Name:
			of = "goroutines"
		default:
			of = "goroutines of " + r.Workers
		}
		return of + " that wait in " + at + " " + r.Detail
	}
	return "CPU"
}

// Range formats the range of the share; empty: it has none.
func (r Resource) Range() string {
	switch {
	case r.Busy != nil && r.Looks == 1 && r.Low == r.High, r.Busy == nil && r.Low <= 0 && r.High >= 1:
		return ""
	}
	return Between(r.Low, r.High)
}

// sure says how sure the share is, in brackets.
func (r Resource) sure(looks string) string {
	switch {
	case r.Kind == KindWait:
		return ""
	case r.Busy == nil && r.Range() == "":
		return " (share not known)"
	case r.Range() == "":
		return " (one look only, so no range)"
	case r.Busy == nil:
		return " (share not known, " + r.Range() + ")"
	}
	return " (" + r.Range() + looks + ")"
}

// notSeen lists what could make the process refuse or wait, and does not show here.
func notSeen(f Facts, s *seen, r *Report) []string {
	out := append([]string{}, f.Missing...)
	if f.InUse > 0 {
		out = append(out, fmt.Sprintf("the time in which another client profiled the process (%d tries waited for it to end)", f.InUse))
	}
	if s.moments && len(s.looks) > 0 {
		out = append(out, "there was no execution trace, so shares are estimates from goroutine profiles: no waits per second, no run-queue delay, no requests counted")
	}
	if slices.ContainsFunc(r.Resources, func(p Resource) bool { return p.Kind == KindPool }) {
		out = append(out, "sizes of pools: a profile shows who waits, and not how many there are")
	}
	if slices.ContainsFunc(r.Resources, func(o Resource) bool { return o.Kind == KindLock || o.Kind == KindPool }) {
		out = append(out, "whether what a function takes is one lock or pool or several, as of shards or connections: their waits are in one row")
	}
	if rest := s.merged.Rest / max(s.merged.Seconds, 1e-9); rest >= quiet {
		out = append(out, fmt.Sprintf("%.1f goroutines that wait, on average, beyond the places with the longest waits in each trace", rest))
	}
	return append(out,
		"pools that are nearly all in use, and locks that are held, while nothing waits for them",
		"how busy goroutines are that share their work with others of the same function (workers): single ones are listed, and where several wait",
		"other processes of the machine, a CPU quota that the row of the CPU does not name, and what a hypervisor takes",
		"limits of downstreams, and limits that refuse: rates, full queues, file descriptors",
	)
}

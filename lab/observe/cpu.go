package observe

import (
	"fmt"
	"strconv"
)

// CPU is what the process uses, and of how much.
type CPU struct {
	Cores  *float64 `json:"cores"` // null: not known
	Source string   `json:"source,omitempty"`
	Limit  *float64 `json:"limit_cores"` // GOMAXPROCS, or the CPU quota if that is known and lower; null: not known
	// Profile is the use by the CPU profile: it lacks what the kernel does for the process outside of
	// its threads; null: there is none.
	Profile *float64 `json:"profile_cores"`

	low, high float64
	limit     string // what Limit is
}

// slice is the use of CPU between two readings.
type slice struct {
	took, used float64
	looking    bool
}

// cpuCounters are the counters of CPU time, the best first.
var cpuCounters = []struct {
	source string
	of     func(Reading) *Point
}{
	{"process CPU time in /proc", func(r Reading) *Point { return r.Process }},
	{processSeconds + " of the page of metrics", func(r Reading) *Point {
		if r.Page == nil {
			return nil
		}
		v, ok := r.Page.Values[processSeconds]
		if !ok {
			return nil
		}
		return &Point{r.Page.At, v}
	}},
}

// slicesOf returns the use between readings of the best counter.
func slicesOf(readings []Reading) (out []slice, source string) {
	for _, c := range cpuCounters {
		if out := slicesBy(readings, c.of); len(out) > 0 {
			return out, c.source
		}
	}
	return nil, ""
}

// slicesBy returns the use between readings of one counter.
func slicesBy(readings []Reading, of func(Reading) *Point) (out []slice) {
	var before *Point
	looking := false
	for _, r := range readings {
		looking = looking || r.Looking
		p := of(r)
		if p == nil {
			continue
		}
		if before != nil && p.At > before.At && p.Value >= before.Value {
			out = append(out, slice{p.At - before.At, p.Value - before.Value, looking})
		}
		before, looking = p, false
	}
	return out
}

// use returns the use in those slices that are looked at, or in the others; in all is the use of CPU
// time by all of the time.
func use(all []slice, looking bool) (each sample, inAll, took float64) {
	used := 0.0
	for _, s := range all {
		if s.looking != looking {
			continue
		}
		if used, took = used+s.used, took+s.took; s.took >= leastSlice {
			each = append(each, s.used/s.took)
		}
	}
	return each, used / max(took, 1e-9), took
}

// leastSlice is the time between two readings from which their difference is a figure, in s: the
// kernel counts in hundredths of a second.
const leastSlice = 0.3

func (s *seen) cpu(f Facts) (c CPU) {
	procs := float64(s.merged.Procs)
	if pages := pagesOf(f.Readings); procs == 0 && len(pages) > 0 {
		procs = pages[0].Values[processors]
	}
	switch {
	case f.Quota > 0 && procs == 0:
		c.Limit, c.limit = &f.Quota, "CPU quota; GOMAXPROCS is not known"
	case f.Quota > 0 && f.Quota < procs:
		c.Limit, c.limit = &f.Quota, fmt.Sprintf("CPU quota; GOMAXPROCS is %.0f", procs)
	case procs > 0:
		c.Limit, c.limit = &procs, "GOMAXPROCS"
	}
	var profiled sample
	for _, p := range s.profiles {
		if p.Seconds > 0 {
			profiled = append(profiled, p.Total()/1e9/p.Seconds)
		}
	}
	if len(profiled) > 0 {
		mean, low, high := profiled.mean()
		c.Profile, c.Cores, c.low, c.high = &mean, new(mean), low, high
		c.Source = "CPU profile, which lacks what the kernel does outside of the process's threads"
	}
	all, source := slicesOf(f.Readings)
	each, mean, took := use(all, false)
	how := " while it was not looked at"
	if took < 1 && len(all) > 0 {
		each, mean, took = use(all, true)
		how = " while it was looked at"
	}
	if took > 0 {
		_, low, high := each.mean()
		c.Cores, c.Source = &mean, source+how
		c.low, c.high = min(low, mean), max(high, mean)
	}
	return c
}

func (s *seen) resourceCPU(c CPU) Resource {
	r := Resource{Kind: KindCPU, High: 1}
	switch {
	case c.Cores == nil:
		r.Detail = "use not known"
	case c.Limit == nil:
		r.Detail = fmt.Sprintf("%s cores of an unknown number (%s)", Number(*c.Cores), c.Source)
	default:
		busy := clip(*c.Cores / *c.Limit)
		r.Busy, r.Low, r.High = &busy, clip(c.low / *c.Limit), clip(c.high / *c.Limit)
		r.Detail = fmt.Sprintf("%s cores of %s (%s), by %s", Number(*c.Cores), Number(*c.Limit), c.limit, c.Source)
		if c.Profile != nil && *c.Profile != *c.Cores {
			r.Detail += "; " + Number(*c.Profile) + " by the CPU profile"
		}
	}
	return r
}

// Cost is what looking cost the process.
type Cost struct {
	// Cores is the CPU that the process used while it was looked at beyond what it used otherwise, with
	// its range, of three looks or more a 95% interval; null: not known.
	Cores *float64    `json:"cores"`
	Range *[2]float64 `json:"cores_range"`
	// Share is Cores averaged over the whole time, as a share of the limit; null: not known.
	Share   *float64 `json:"share_of_limit"`
	Looking float64  `json:"looking_s"` // time in which it was looked at
	Fetched int64    `json:"fetched_bytes"`
	How     string   `json:"how"`
}

// cost compares the CPU while the process was looked at with the CPU while it was not.
func (s *seen) cost(f Facts, c CPU) Cost {
	out := Cost{Fetched: f.Fetched, Looking: s.profile.Seconds + s.merged.Seconds}
	if s.moments {
		out.Looking = s.profile.Seconds
	}
	all, source := slicesOf(f.Readings)
	during, _, looked := use(all, true)
	otherwise, _, _ := use(all, false)
	switch {
	case len(all) == 0:
		out.How = "not known: the CPU time of the process was not read; give --metrics with " + processSeconds + ", or --pid"
		return out
	case len(during) < 2 || len(otherwise) < 2:
		out.How = "not known: too few readings while it was looked at and while it was not; give a longer --for"
		return out
	}
	a, lowA, highA := during.mean()
	b, lowB, highB := otherwise.mean()
	out.Looking = looked
	half := (highA-lowA)/2 + (highB-lowB)/2
	if a-b+half < 0 {
		out.How = "not known: the process used less CPU while it was looked at than otherwise, so its load changed"
		return out
	}
	out.Cores, out.Range = new(a-b), &[2]float64{a - b - half, a - b + half}
	if c.Limit != nil && f.Seconds > 0 {
		out.Share = new((a - b) * looked / f.Seconds / *c.Limit)
	}
	out.How = "measured: " + source + " while it was looked at, less that while it was not"
	return out
}

// Number formats a figure with three significant digits, and never with an exponent.
func Number(v float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		short = v
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

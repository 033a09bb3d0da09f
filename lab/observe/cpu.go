package observe

import "fmt"

// CPU is what the process uses, and of how much.
type CPU struct {
	Cores  *float64 `json:"cores"` // null: not known
	Source string   `json:"source,omitempty"`
	Limit  *float64 `json:"limit_cores"` // GOMAXPROCS; null: not known
	// Profile is the use by the CPU profile: it lacks what the kernel does for the process outside of
	// its threads; null: there is none.
	Profile *float64 `json:"profile_cores"`

	low, high float64
}

const processSeconds = "process_cpu_seconds_total"

// slice is the use of CPU between two readings.
type slice struct {
	took, used float64
	looking    bool
}

// slicesOf returns the use between readings of the best counter: the kernel's, or that of the page of
// metrics.
func slicesOf(readings []Reading) (out []slice, source string) {
	kernel := func(r Reading) *Point { return r.Process }
	page := func(r Reading) *Point {
		if r.Page == nil {
			return nil
		}
		if v, ok := r.Page.Values[processSeconds]; ok {
			return &Point{r.Page.At, v}
		}
		return nil
	}
	for _, by := range []struct {
		of     func(Reading) *Point
		source string
	}{{kernel, "process CPU time in /proc"}, {page, processSeconds + " of the page of metrics"}} {
		var before *Point
		looking := false
		for _, r := range readings {
			looking = looking || r.Looking
			p := by.of(r)
			if p == nil {
				continue
			}
			if before != nil && p.At > before.At && p.Value >= before.Value {
				out = append(out, slice{p.At - before.At, p.Value - before.Value, looking})
			}
			before, looking = p, false
		}
		if len(out) > 0 {
			return out, by.source
		}
	}
	return nil, ""
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
	if s.merged.Procs > 0 {
		c.Limit = new(float64(s.merged.Procs))
	} else if pages := pagesOf(f.Readings); len(pages) > 0 && pages[0].Values["go_sched_gomaxprocs_threads"] > 0 {
		c.Limit = new(pages[0].Values["go_sched_gomaxprocs_threads"])
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
		r.Detail = fmt.Sprintf("%.3g cores of an unknown number (%s)", *c.Cores, c.Source)
	default:
		busy := clip(*c.Cores / *c.Limit)
		r.Busy, r.Low, r.High = &busy, clip(c.low / *c.Limit), clip(c.high / *c.Limit)
		r.Detail = fmt.Sprintf("%.3g cores of %.0f (GOMAXPROCS), by %s", *c.Cores, *c.Limit, c.Source)
		if c.Profile != nil && *c.Profile != *c.Cores {
			r.Detail += fmt.Sprintf("; %.3g by the CPU profile", *c.Profile)
		}
	}
	return r
}

// Cost is what looking cost the process.
type Cost struct {
	// Cores is the CPU that the process used while it was looked at beyond what it used otherwise, with
	// its 95% interval; null: not known.
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
	out.Cores, out.Range = new(a-b), &[2]float64{a - b - (highA-lowA)/2 - (highB-lowB)/2, a - b + (highA-lowA)/2 + (highB-lowB)/2}
	out.Looking = looked
	if c.Limit != nil && f.Seconds > 0 {
		out.Share = new((a - b) * looked / f.Seconds / *c.Limit)
	}
	out.How = "measured: " + source + " while it was looked at, less that while it was not"
	return out
}

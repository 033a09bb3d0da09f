package observe

import (
	"fmt"
	"maps"
	"slices"
)

// own returns the facts without counters that are not those of one process, with the reasons under Missing:
// several may answer at an address, one may have begun again, and a page of metrics may be another's.
func (f Facts) own() Facts {
	f.Readings, f.Missing = slices.Clone(f.Readings), slices.Clone(f.Missing)
	drop := func(of func(*Reading), what string) {
		for i := range f.Readings {
			of(&f.Readings[i])
		}
		f.Missing = append(f.Missing, what)
	}
	if why := changed(pagesOf(f.Readings), f.Counter); why != "" {
		drop(func(r *Reading) { r.Page = nil },
			"figures of the page of metrics: "+why+", so the process began again, or several answer at its address")
	}
	if why := allocatedLess(f.Readings); why != "" {
		drop(func(r *Reading) { r.Memory = nil },
			"memory, and whether all looks are of one process: "+why+", so it began again, or several answer at the debug address")
	}
	for i, c := range cpuCounters {
		if !another(slicesBy(f.Readings, c.of), f.Looks) {
			continue
		}
		what := c.source + " grew by less than half of the CPU time in the profiles, so it is that of another process, or what answers keeps an old page"
		if i == 0 {
			drop(func(r *Reading) { r.Process = nil }, "the CPU time of the process: "+what)
			continue
		}
		drop(func(r *Reading) { r.Page = r.Page.named(f.Counter) }, "figures of the page of metrics that --counter does not name: "+what)
	}
	return f
}

// changed says which counter fell between two pages, or that another process wrote one of them; empty: neither.
func changed(pages []*Page, counter string) string {
	before := map[string]float64{}
	for _, p := range pages {
		for _, name := range slices.Sorted(maps.Keys(p.Values)) {
			v := p.Values[name]
			last, there := before[name]
			switch {
			case !there:
			case name == processStart && v != last:
				return name + " changed"
			case v < last && (name == counter || name == processSeconds || likely(name) > 0):
				return fmt.Sprintf("%s fell from %s to %s", name, Number(last), Number(v))
			}
			before[name] = v
		}
	}
	return ""
}

// allocatedLess says that the runtime's statistics fell between two looks; empty: they did not.
func allocatedLess(readings []Reading) string {
	var before *Memory
	for _, r := range readings {
		switch m := r.Memory; {
		case m == nil:
			continue
		case before != nil && (m.total < before.total || m.cycles < before.cycles):
			return "TotalAlloc or NumGC of the runtime's statistics fell between two looks"
		}
		before = r.Memory
	}
	return ""
}

// leastProfiled is the CPU time in profiles from which it is evidence, in s: they have a sample in 10 ms.
const leastProfiled = 0.2

// another reports whether a counter of CPU time is that of another process: between the readings around the
// looks, it grew by less than half of what the profiles within have.
func another(all []slice, looks []Look) bool {
	profiled, profiles, grew, around := 0.0, 0.0, 0.0, 0.0
	for _, l := range looks {
		if l.CPU != nil && l.CPU.Seconds > 0 {
			profiled, profiles = profiled+l.CPU.Total()/1e9, profiles+1
		}
	}
	for _, s := range all {
		if s.looking {
			grew, around = grew+s.used, around+1
		}
	}
	return around > 0 && profiled >= leastProfiled && grew < profiled/2*min(1, around/profiles)
}

func (p *Page) named(counter string) *Page {
	if p == nil {
		return nil
	}
	out := &Page{At: p.At, Values: map[string]float64{}}
	if v, ok := p.Values[counter]; ok {
		out.Values[counter] = v
	}
	return out
}

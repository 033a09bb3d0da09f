package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Difference is how the CPU time of a request differs between two sides, in us per request.
type Difference struct {
	Before, After float64 // of the whole request, at the peak
	// Gone is the time in places that take less of it, and New that in places that take more;
	// differences within the error of the sampling count for neither.
	Gone, New     float64
	GoneIn, NewIn string // the place with most of it
}

// standardErrors is by how many of them a place must differ: some 50 places are compared.
const standardErrors = 2

// Compare finds the places whose CPU time per request differs. A place is a function of the
// service's own with the library function that it calls, or a class of the runtime's work. The
// profiles say how the CPU time of a request is divided, and how much it is was measured in turns
// (us, 0: in the profile), so that the machine was the same for both. Without samples of a side,
// there is one place. False: neither the profiles nor the turns say what a request costs.
func Compare(before, after *record.Run, measured [2]float64) (Difference, bool) {
	was, is := placesOf(before), placesOf(after)
	if sum(was) <= 0 || sum(is) <= 0 {
		was, is = map[string]part{"": {us: measured[0]}}, map[string]part{"": {us: measured[1]}}
	}
	was, is = scaled(was, measured[0]), scaled(is, measured[1])
	d := Difference{Before: sum(was), After: sum(is)}
	if d.Before <= 0 || d.After <= 0 {
		return d, false
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	most, least := 0.0, 0.0
	for _, at := range slices.Sorted(maps.Keys(all)) {
		change := is[at].us - was[at].us
		switch {
		case math.Abs(change) < standardErrors*math.Sqrt(is[at].variance+was[at].variance):
		case change < 0:
			if d.Gone -= change; change < least {
				least, d.GoneIn = change, at
			}
		default:
			if d.New += change; change > most {
				most, d.NewIn = change, at
			}
		}
	}
	// Where each of many places differs by less than the error, their sum may differ by more. The
	// error of a measured sum is small.
	rest := d.Before - d.After - (d.Gone - d.New)
	switch {
	case measured == [2]float64{} && math.Abs(rest) < standardErrors*math.Sqrt(variance(was)+variance(is)):
	case rest > 0:
		d.Gone += rest
	default:
		d.New -= rest
	}
	return d, true
}

func variance(parts map[string]part) (sum float64) {
	for _, p := range parts {
		sum += p.variance
	}
	return sum
}

// Removal is what went between the two profiles, as a share of the first.
func (d Difference) Removal() whatif.Removal {
	return whatif.Removal{CPU: d.Gone / d.Before, CPUOf: "gone, most of it in " + cmp.Or(d.GoneIn, "no place")}
}

// part is the CPU time of a request in one place, with the variance of its sampling.
type part struct{ us, variance float64 }

func sum(parts map[string]part) (us float64) {
	for _, p := range parts {
		us += p.us
	}
	return us
}

// scaled makes the parts add up to what was measured; 0: they stay as they are.
func scaled(parts map[string]part, measured float64) map[string]part {
	if whole := sum(parts); measured > 0 && whole > 0 {
		by := measured / whole
		for at, p := range parts {
			parts[at] = part{p.us * by, p.variance * by * by}
		}
	}
	return parts
}

// placesOf divides the CPU time of a request into places.
func placesOf(r *record.Run) map[string]part {
	out := map[string]part{}
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		return out
	}
	requests := p.Requests
	if requests <= 0 {
		requests = p.Seconds * r.Totals.ThroughputPerS
	}
	if requests <= 0 {
		return out
	}
	const sample = 1e4 // us: pprof's 100 Hz
	for _, s := range stacks.Unprofiled(p).Stacks {
		us := s.Value / 1e3
		at := out[placeOf(s.Frames)]
		out[placeOf(s.Frames)] = part{at.us + us/requests, at.variance + us*sample/(requests*requests)}
	}
	return out
}

// placeOf names the place that a stack belongs to.
func placeOf(frames []record.Frame) string {
	class := stacks.ClassOf(frames)
	if class == stacks.GC || class == stacks.Scheduler {
		return string(class)
	}
	user, ok := stacks.UserFrame(frames)
	if !ok {
		if len(frames) == 0 {
			return string(class)
		}
		return frames[len(frames)-1].Function
	}
	i := slices.IndexFunc(frames, func(f record.Frame) bool {
		return f.File == user.File && f.Line == user.Line && !stacks.Standard(f.Function)
	})
	if i <= 0 {
		return user.Function
	}
	return fmt.Sprintf("%s calling %s", user.Function, frames[i-1].Function)
}

// ShareOf is the share of the CPU time in a function and what it calls, with the collector's work
// if that function allocates; 0: no profile.
func ShareOf(r *record.Run, function string) float64 {
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		return 0
	}
	all, in, collecting, allocates := 0.0, 0.0, 0.0, false
	for _, s := range stacks.Unprofiled(p).Stacks {
		class := stacks.ClassOf(s.Frames)
		all += s.Value
		switch {
		case slices.ContainsFunc(s.Frames, func(f record.Frame) bool { return f.Function == function }):
			in += s.Value
			allocates = allocates || class == stacks.Malloc
		case class == stacks.GC:
			collecting += s.Value
		}
	}
	if allocates {
		in += collecting
	}
	return in / max(all, 1)
}

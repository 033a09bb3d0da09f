// Package changes names the functions whose CPU time or allocations per request differ between two
// variants, from a profile of each.
//
// A profile is a sample, so every difference has an interval. Its width comes from the number of
// samples, and from a share of the cost by which even two processes of one program differ. The
// package is not for whether a variant is faster (compare), nor for what bounds it (diagnose). It
// starts no goroutines.
package changes

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"

	"gonum.org/v1/gonum/stat/distuv"
)

// Function is a function of the program's own whose cost per request changed: the cost includes
// what it calls in the runtime and in libraries, but not in the program's other functions.
type Function struct {
	Name   string     `json:"function"`
	Where  string     `json:"where,omitempty"`  // file and line
	Callee string     `json:"callee,omitempty"` // function that it calls for most of the cost
	Before float64    `json:"before"`           // per request
	After  float64    `json:"after"`
	Change [2]float64 `json:"change"` // interval of After - Before
}

// Resource is what a request costs of one resource, on both sides.
type Resource struct {
	Name      string     `json:"resource"`
	Unit      string     `json:"unit"`
	Before    float64    `json:"before"` // of a request, in all
	After     float64    `json:"after"`
	Ratio     [2]float64 `json:"ratio"`     // 95% interval of After over Before
	Samples   [2]int     `json:"samples"`   // of the profiles
	Functions []Function `json:"functions"` // whose interval excludes 0, the largest change first
	Unseen    string     `json:"unseen,omitempty"`
}

// Changes are the differences between two variants.
type Changes struct {
	A         string     `json:"a"`
	B         string     `json:"b"`
	Resources []Resource `json:"resources"`
}

const (
	// level is the simultaneous confidence level of all intervals of a resource, with regard to the
	// number of samples.
	level = 0.95
	// cpuSlack and heapSlack widen an interval on each side, as shares of the function's cost: two
	// processes of one program differ in their CPU time, and the requests during a heap profile are
	// counted by the mean rate of its run.
	cpuSlack  = 0.05
	heapSlack = 0.10
	// least is the smallest change that is listed, as a share of the cost of a request.
	least = 0.01
	most  = 8 // functions of a resource that are listed
	// heapRate is the mean number of bytes between two samples of the heap profile, by default.
	heapRate = 512 << 10
	// cpuPeriod is the CPU time between two samples, by default, ns.
	cpuPeriod = 10e6
	// leastSamples is the smallest number of samples that the variance of a stack's value is computed
	// with.
	leastSamples = 1
	// samples is the sample type of a CPU profile that counts the samples.
	samples = "samples"
)

// Of compares the profiles of two variants; nil: neither was profiled.
func Of(e *record.Experiment, a, b string) *Changes {
	before, after := profiled(e, a), profiled(e, b)
	if before == nil && after == nil {
		return nil
	}
	out := &Changes{A: a, B: b}
	for _, of := range []resource{cpu, objects, bytes} {
		r := Resource{Name: of.name, Unit: of.unit, Functions: []Function{}}
		sides, err := of.sides(e, before, after)
		if err != nil {
			r.Unseen = err.Error()
		} else {
			r.compare(sides[0], sides[1])
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// profiled returns the last run of a variant under profiles; nil: none.
func profiled(e *record.Experiment, variant string) (run *record.Run) {
	for _, r := range e.Runs {
		if r.Spec.Role == record.RoleProfile && r.Spec.Variant == variant {
			run = r
		}
	}
	return run
}

// resource is a way to read costs from a run under profiles.
type resource struct {
	name, unit string
	read       func(e *record.Experiment, r *record.Run) (side, error)
}

var (
	cpu     = resource{"CPU", "us", readCPU}
	objects = resource{"allocations", "objects", func(_ *record.Experiment, r *record.Run) (side, error) {
		return readHeap(r, record.ValueAllocObjects)
	}}
	bytes = resource{"allocated memory", "bytes", func(_ *record.Experiment, r *record.Run) (side, error) {
		return readHeap(r, record.ValueAllocBytes)
	}}
)

func (of resource) sides(e *record.Experiment, runs ...*record.Run) (out []side, err error) {
	for _, r := range runs {
		if r == nil {
			return nil, fmt.Errorf("one of the sides was not profiled")
		}
		s, err := of.read(e, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Spec.Variant, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// side is the cost of a request on one side, by function.
type side struct {
	costs   map[string]*cost
	total   float64
	samples float64
	slack   float64
}

// cost is that of one function.
type cost struct {
	place  stacks.Site
	value  float64 // per request
	square float64 // variance of value
	stacks []record.Stack
}

// add divides the stacks among the program's own functions. unit converts a stack's value to a
// cost per request; samplesOf returns the number of samples of a stack.
func (s *side) add(of []record.Stack, unit float64, samplesOf func(i int) float64) {
	s.costs = map[string]*cost{}
	for i, stack := range of {
		place := stacks.Site{}
		if f, ok := stacks.UserFrame(stack.Frames); ok {
			place = stacks.At(f)
		} else {
			place.Function = outside(stack.Frames)
		}
		c := s.costs[place.Function]
		if c == nil {
			c = &cost{place: place}
			s.costs[place.Function] = c
		}
		n := samplesOf(i)
		c.value += stack.Value * unit
		c.square += math.Pow(stack.Value*unit, 2) / max(n, leastSamples)
		c.stacks = append(c.stacks, stack)
		s.total += stack.Value * unit
		s.samples += n
	}
}

// outside names the work of a stack without a function of the program's own.
func outside(frames []record.Frame) string {
	switch class := stacks.ClassOf(frames); class {
	case stacks.GC:
		return "(garbage collector)"
	case stacks.Scheduler:
		return "(scheduler)"
	}
	return "(libraries, outside the program's own functions)"
}

// readCPU divides the CPU time per request that the slices measured by the shares of the CPU
// profile: the sides were measured in turns, so the machine's speed was the same for both. Without
// slices, the CPU time is the profile's.
func readCPU(e *record.Experiment, r *record.Run) (side, error) {
	p, err := r.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		return side{}, err
	}
	period := cpuPeriod
	if counted, err := r.Profile(record.ProfileCPU, samples); err == nil && counted.Type == samples && counted.Total() > 0 {
		period = p.Total() / counted.Total()
	}
	own := stacks.Unprofiled(p)
	total := own.Total()
	perRequest := measured(e, r.Spec.Variant)
	if perRequest == 0 && p.Requests > 0 {
		perRequest = total / 1000 / p.Requests
	}
	if total == 0 || perRequest == 0 {
		return side{}, fmt.Errorf("the CPU profile is empty")
	}
	s := side{slack: cpuSlack}
	s.add(own.Stacks, perRequest/total, func(i int) float64 { return own.Stacks[i].Value / period })
	return s, nil
}

// measured is the median CPU time per request over the slices of a variant, us; 0: none.
func measured(e *record.Experiment, variant string) float64 {
	var all []float64
	for i := range e.Slices {
		s := &e.Slices[i]
		if s.Variant == variant && s.Role == record.RoleMeasure && s.Invalid == "" && s.TargetCPU > 0 && s.Served > 0 {
			all = append(all, s.CPUMicros())
		}
	}
	if len(all) == 0 {
		return 0
	}
	sort.Float64s(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// readHeap reads what a request allocates.
func readHeap(r *record.Run, value string) (side, error) {
	p, err := r.Profile(record.ProfileHeap, value)
	if err != nil {
		return side{}, err
	}
	size, err := r.Profile(record.ProfileHeap, record.ValueAllocBytes)
	if err != nil {
		return side{}, err
	}
	if !(p.Requests > 0) || len(p.Stacks) == 0 {
		return side{}, fmt.Errorf("the heap profile shows no allocation")
	}
	bytesOf := map[string]float64{}
	for _, s := range size.Stacks {
		bytesOf[s.Key()] += s.Value
	}
	own := stacks.Unprofiled(p)
	s := side{slack: heapSlack}
	s.add(own.Stacks, 1/p.Requests, func(i int) float64 { return bytesOf[own.Stacks[i].Key()] / heapRate })
	return s, nil
}

// compare lists the functions whose cost changed.
func (r *Resource) compare(a, b side) {
	r.Before, r.After, r.Samples = a.total, b.total, [2]int{int(math.Round(a.samples)), int(math.Round(b.samples))}
	r.Ratio = ratioOf(&a, &b)
	names := maps.Clone(a.costs)
	maps.Copy(names, b.costs)
	// Bonferroni correction: level is of all intervals together.
	width := distuv.UnitNormal.Quantile(1 - (1-level)/2/float64(max(1, len(names))))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := a.of(name), b.of(name)
		change := is.value - was.value
		half := width*math.Hypot(a.deviation(was), b.deviation(is)) + a.slack*max(was.value, is.value)
		if math.Abs(change) <= half || math.Abs(change) < least*max(a.total, b.total) {
			continue
		}
		f := Function{Name: name, Before: was.value, After: is.value, Change: [2]float64{change - half, change + half}}
		higher := is
		if change < 0 {
			higher = was
		}
		if higher.place.File != "" {
			f.Where = higher.place.Location()
			f.Callee = stacks.Callee(higher.stacks, higher.place)
		}
		r.Functions = append(r.Functions, f)
	}
	slices.SortStableFunc(r.Functions, func(x, y Function) int {
		return cmp.Compare(math.Abs(y.After-y.Before), math.Abs(x.After-x.Before))
	})
	r.Functions = r.Functions[:min(most, len(r.Functions))]
}

// ratioOf is the interval of the ratio of two totals.
func ratioOf(a, b *side) [2]float64 {
	relative := func(s *side) float64 {
		square := 0.0
		for _, c := range s.costs {
			square += c.square
		}
		return math.Sqrt(square) / s.total
	}
	half := distuv.UnitNormal.Quantile(1-(1-level)/2)*math.Hypot(relative(a), relative(b)) + a.slack
	return [2]float64{b.total / a.total * math.Exp(-half), b.total / a.total * math.Exp(half)}
}

func (s *side) of(name string) *cost {
	if c := s.costs[name]; c != nil {
		return c
	}
	return &cost{}
}

// deviation is the standard deviation of a function's cost, whose samples are counted events. A
// function without samples may have been missed by chance: its deviation is one sample's cost.
func (s *side) deviation(c *cost) float64 {
	if c.value == 0 {
		return s.total / max(1, s.samples)
	}
	return math.Sqrt(c.square)
}

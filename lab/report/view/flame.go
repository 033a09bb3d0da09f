package view

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/report/format"
)

// Bounds on the flame graphs of a page.
const (
	maxNodes = 40_000 // frames in all graphs; at about 18 bytes each, 0.7 MB
	maxDepth = 256    // frames in a stack; the runtime keeps 128
	maxName  = 240    // bytes of a function's name; generics make long ones
)

// leastShares are the shares of a graph's total below which stacks are merged: the first with which
// all graphs fit is used.
var leastShares = []float64{0.001, 0.002, 0.005, 0.01, 0.02}

// Profiles are the profiles of an experiment as prefix trees, in a compact form.
type Profiles struct {
	Functions []string `json:"functions"` // the first stands for merged stacks
	Files     []string `json:"files"`     // by function: the file's name without its folder
	Origins   []int    `json:"origins"`   // by function: origin...
	Graphs    []Flame  `json:"graphs"`
	Least     float64  `json:"least"` // stacks below this share of their graph are merged
	Left      int      `json:"left"`  // graphs that would make the page too large
	Missing   []string `json:"-"`     // profiles that were not taken, with the reason
}

// Flame is one sample type of a variant's profile. Its frames are in depth-first order.
type Flame struct {
	Variant   string         `json:"variant"`
	Kind      string         `json:"kind"`
	Name      string         `json:"name"` // of the kind, in words
	Unit      string         `json:"unit"`
	About     string         `json:"about"` // the load under which the profile was taken
	Functions []int          `json:"f"`
	Depths    []int          `json:"d"`
	Lines     []int          `json:"l"` // line with most of the value; 0: unknown
	Self      format.Numbers `json:"s"` // in none of its children, in Unit
	Total     float64        `json:"-"`
	Deepest   int            `json:"-"`
}

// FlameKind is a sample type with a flame graph.
type FlameKind struct {
	// in links: #flame=VARIANT,KIND,FUNCTION; for the first of a profile, record.Profile...
	Key     string
	profile string
	value   string
	Name    string
	unit    string
	scale   float64 // from the profile's unit to unit
	moment  bool    // of one moment: not divided by requests
}

// FlameKinds are the flame graphs of a variant, in order.
var FlameKinds = []FlameKind{
	{Key: record.ProfileCPU, profile: record.ProfileCPU, value: record.ValueCPU, Name: "CPU", unit: "us", scale: 1e-3},
	{Key: record.ProfileHeap, profile: record.ProfileHeap, value: record.ValueAllocBytes, Name: "allocated bytes", unit: "bytes", scale: 1},
	{Key: "objects", profile: record.ProfileHeap, value: record.ValueAllocObjects, Name: "allocated objects", unit: "objects", scale: 1},
	{Key: record.ProfileMutex, profile: record.ProfileMutex, value: record.ValueDelay, Name: "waits for a mutex, by holder", unit: "us", scale: 1e-3},
	{Key: record.ProfileBlock, profile: record.ProfileBlock, value: record.ValueDelay, Name: "waits, by waiting function", unit: "us", scale: 1e-3},
	{Key: record.ProfileGoroutine, profile: record.ProfileGoroutine, value: record.ValueGoroutines, Name: "goroutines at one moment", unit: "goroutines", scale: 1, moment: true},
}

// unitOf is the unit of the graph's figures: per request if the requests were counted.
func (k FlameKind) unitOf(p *record.Profile) (unit string, scale float64) {
	if k.moment || !(p.Requests > 0) {
		return k.unit, k.scale
	}
	return k.unit + perRequestUnit, k.scale / p.Requests
}

// perRequestUnit ends the unit of figures divided by the requests.
const perRequestUnit = " per request"

// Comparable reports whether a graph may be compared with another variant's: totals may not, since
// they depend on the length and the load of the profile.
func (g Flame) Comparable(other Flame) bool {
	whole := g.Kind == record.ProfileGoroutine || strings.HasSuffix(g.Unit, perRequestUnit)
	return whole && g.Kind == other.Kind && g.Unit == other.Unit
}

// FlamesOf returns the profiles of every variant; nil when there are none.
func FlamesOf(e *record.Experiment) *Profiles {
	out := &Profiles{}
	var trees []*frame
	missing := map[string][]string{}
	for _, name := range e.VariantNames() {
		run := profiledRun(e, name)
		if run == nil {
			continue
		}
		for _, kind := range FlameKinds {
			p, err := run.Profile(kind.profile, kind.value)
			if err != nil {
				missing[err.Error()] = append(missing[err.Error()], cmp.Or(name, "the target"))
				continue
			}
			unit, scale := kind.unitOf(p)
			tree := newFrames(p, scale)
			if tree.total == 0 {
				continue
			}
			out.Graphs = append(out.Graphs, Flame{Variant: name, Kind: kind.Key, Name: kind.Name, Unit: unit, About: profiledText(run, p), Total: tree.total})
			trees = append(trees, tree)
		}
	}
	if len(trees) == 0 && len(missing) == 0 {
		return nil
	}
	for _, why := range slices.Sorted(maps.Keys(missing)) {
		out.Missing = append(out.Missing, strings.Join(slices.Compact(missing[why]), ", ")+": "+why)
	}
	out.write(trees)
	return out
}

// profiledRun is the run in which profiles of a variant were taken: the last valid one, or else the
// last.
func profiledRun(e *record.Experiment, variant string) (run *record.Run) {
	for _, r := range e.Runs {
		if r.Spec.Role == record.RoleProfile && r.Spec.Variant == variant && (run == nil || r.Invalid == "" || run.Invalid != "") {
			run = r
		}
	}
	return run
}

// profiledText describes the load under which a profile was taken.
func profiledText(r *record.Run, p *record.Profile) string {
	var parts []string
	if r.Totals.ThroughputPerS > 0 {
		parts = append(parts, "at "+format.Rate(format.Value(r.Totals.ThroughputPerS)))
	}
	if r.Load.Model == "closed" && r.Load.Connections > 0 {
		parts = append(parts, "from "+format.Plural(r.Load.Connections, "client")+" in a closed loop")
	}
	if p.Seconds > 0 {
		parts = append(parts, "over "+format.Digits(p.Seconds, 3)+" s")
	}
	if p.Requests > 0 {
		parts = append(parts, format.Plural(int(p.Requests), "request"))
	}
	if r.Invalid != "" {
		parts = append(parts, "in a run that does not count ("+r.Invalid+")")
	}
	return strings.Join(parts, ", ")
}

// write chooses the share below which stacks are merged, and writes the trees. Graphs that still do
// not fit are left out from the end.
func (f *Profiles) write(trees []*frame) {
	fits := func(n int) bool {
		sum := 0
		for _, t := range trees[:n] {
			sum += t.count(f.Least * t.total)
		}
		return sum <= maxNodes
	}
	for _, f.Least = range leastShares {
		if fits(len(trees)) {
			break
		}
	}
	n := len(trees)
	for n > 0 && !fits(n) {
		n--
	}
	f.Left = len(f.Graphs) - n
	f.Graphs = f.Graphs[:n]
	index := map[string]int{}
	f.function(index, &frame{function: summedUp})
	for i, t := range trees[:n] {
		g := &f.Graphs[i]
		g.Deepest = f.walk(index, g, t, 0, f.Least*t.total)
	}
}

// summedUp names the merged stacks.
const summedUp = "(rest)"

// walk writes the children of a frame, by name, and returns their depth in frames.
func (f *Profiles) walk(index map[string]int, g *Flame, parent *frame, depth int, least float64) (deepest int) {
	rest := 0.0
	add := func(fn, line int, self float64) {
		g.Functions, g.Depths = append(g.Functions, fn), append(g.Depths, depth)
		g.Lines, g.Self = append(g.Lines, line), append(g.Self, self)
		deepest = max(deepest, depth+1)
	}
	for _, name := range slices.Sorted(maps.Keys(parent.children)) {
		c := parent.children[name]
		if c.total < least {
			rest += c.total
			continue
		}
		add(f.function(index, c), c.line(), c.self)
		deepest = max(deepest, f.walk(index, g, c, depth+1, least))
	}
	if rest > 0 {
		add(0, 0, rest)
	}
	return deepest
}

// function adds a frame's function to the table.
func (f *Profiles) function(index map[string]int, c *frame) int {
	i, known := index[c.function]
	if !known {
		i = len(f.Functions)
		index[c.function] = i
		name := c.function
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "") + "..."
		}
		f.Functions = append(f.Functions, format.Visible(name))
		f.Files = append(f.Files, format.Visible(path.Base(strings.ReplaceAll(c.file, `\`, "/"))))
		f.Origins = append(f.Origins, originOf(c.function, c.file))
	}
	return i
}

// Initial is the graph shown first: the last variant's CPU, or else the first graph.
func (f *Profiles) Initial() int {
	for i := len(f.Graphs) - 1; i >= 0; i-- {
		if f.Graphs[i].Kind == record.ProfileCPU {
			return i
		}
	}
	return 0
}

// Has reports whether there is a graph to link to.
func (f *Profiles) Has(variant, kind string) bool {
	return f != nil && slices.ContainsFunc(f.Graphs, func(g Flame) bool { return g.Variant == variant && g.Kind == kind })
}

// LeastText formats the share below which stacks are merged: 0.1%.
func (f *Profiles) LeastText() string { return format.Percent(format.Value(f.Least)) }

// Showing is the first of the kinds whose graph of the variant contains a function; empty: none.
func (f *Profiles) Showing(variant string, kinds []string, function string) string {
	if f == nil {
		return ""
	}
	at := slices.Index(f.Functions, function)
	for _, kind := range kinds {
		for _, g := range f.Graphs {
			if g.Variant == variant && g.Kind == kind && slices.Contains(g.Functions, at) {
				return kind
			}
		}
	}
	return ""
}

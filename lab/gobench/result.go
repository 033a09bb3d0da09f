package gobench

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
)

// Schema names the JSON form of a Result. Keys may be added, never changed.
const Schema = "dyno.bench/1"

// Result is what is known of the benchmarks of two versions.
type Result struct {
	Schema     string      `json:"schema"`
	Valid      bool        `json:"valid"`
	Reason     string      `json:"reason"` // why not valid
	A          string      `json:"a"`
	B          string      `json:"b"`
	Answer     string      `json:"answer"`     // the verdicts
	What       string      `json:"what"`       // the worst of them
	Sure       string      `json:"how_sure"`   // how sure they are, and how long more would take
	Benchmarks []Benchmark `json:"benchmarks"` // the worst first
	Skipped    []Skipped   `json:"skipped"`    // what has no verdict, and why
	Equal      []string    `json:"equal"`      // packages of which both sides build the same test binary
	Gates      []Gated     `json:"gates"`
	Layouts    Layouts     `json:"layouts"`
	Warnings   []string    `json:"warnings"`
	// TimeToDecide is how much longer the measurement must be to decide what is not decided or, with
	// fewer than 4 generations, to give an interval, in seconds; 0: everything is, or it is not known.
	TimeToDecide float64   `json:"would_decide_s"`
	short        bool      // it is for intervals
	Started      time.Time `json:"started"`
	Seconds      float64   `json:"seconds"` // of the measurement, without building
	Seed         uint64    `json:"seed"`
	Machine      string    `json:"machine"`
}

// Layouts describe the orders of functions in the binaries.
type Layouts struct {
	Random bool   `json:"random"` // each generation has new ones
	Reason string `json:"reason"` // why not
	// The median over the benchmarks, of those whose generations show what layouts do apart from slices.
	Median *Scatter `json:"median"`
	// By how much A differs from itself: the median over the benchmarks of the farther end of the
	// interval, of those within 20%; 0: none is.
	Floor float64 `json:"floor"`
}

// Skipped is a benchmark, or a package, without a verdict.
type Skipped struct {
	Package string `json:"package"`
	Name    string `json:"name"` // empty: the whole package
	Cause   string `json:"cause"`
	Why     string `json:"why"`
}

// Causes of a Skipped.
const (
	FailsOnA    = "fails on a"
	FailsOnB    = "fails on b"
	FailsOnBoth = "fails on both"
	OnlyA       = "only a" // B does not have it, or skips it
	OnlyB       = "only b"
	Unlike      = "unlike"     // the sides measure differently
	Unmeasured  = "unmeasured" // there was no time, or no figure
	Skips       = "skips"      // it skips itself on both sides
)

// failsOn and onlyOn are the causes by side.
var failsOn, onlyOn = [2]string{FailsOnA, FailsOnB}, [2]string{OnlyA, OnlyB}

func (s Skipped) what() string {
	if s.Name == "" {
		return s.Package
	}
	return s.Package + "." + s.Name
}

// Benchmark is a benchmark that was measured.
type Benchmark struct {
	Package     string   `json:"package"`
	Name        string   `json:"name"` // without "Benchmark", with the suffix of GOMAXPROCS
	Iterations  int      `json:"iterations"`
	Generations int      `json:"generations"`
	Verdict     string   `json:"verdict"` // the worst of its units
	Metrics     []Metric `json:"metrics"`
	Scatter     *Scatter `json:"scatter"` // null: too few generations of several blocks
	Missing     []string `json:"missing"` // units that only some slices report
	Runs        int      `json:"runs"`    // of a slice, each of that many iterations; of three or more, the fastest counts
	title       string
	untimed     bool // it reports no ns/op
}

// Title names the benchmark for people.
func (b *Benchmark) Title() string {
	return cmp.Or(b.title, path.Base(b.Package)+"."+b.Name)
}

// Metric is a unit of a benchmark.
type Metric struct {
	Unit string  `json:"unit"`
	A    float64 `json:"a"` // medians
	B    float64 `json:"b"`
	// Exact means that every slice of a side had the same figure or, where both sides have one figure,
	// four of five slices of each: slices that were timed or, of too few of them, those that the pilot counted.
	Exact bool `json:"exact"`
	timed bool // the slices that show it were timed
	// Suspected means that the screen suspected a change, and fresh samples decided.
	Suspected  bool               `json:"suspected"`
	Comparison compare.Comparison `json:"comparison"`
	Samples    [][2]float64       `json:"samples"` // A and B of each generation
}

// Gated is a gate and its verdict over all benchmarks.
type Gated struct {
	compare.Outcome
	Worst string `json:"worst"` // the benchmark that decides it; empty: none has the unit
	// TimeToDecide is how much longer the measurement must be to decide what is undecided, in seconds; 0:
	// it is decided, or it is not known.
	TimeToDecide float64 `json:"would_decide_s"`
}

// Metric returns a unit of the benchmark; nil: it does not report it.
func (b *Benchmark) Metric(unit string) *Metric {
	for i := range b.Metrics {
		if b.Metrics[i].Unit == unit {
			return &b.Metrics[i]
		}
	}
	return nil
}

// severity orders verdicts, the worst first. What is proved is not hidden by what is open.
var severity = []string{compare.Slower, compare.Changed, compare.Faster, compare.NotDecided, compare.Equal, compare.Invalid}

// result says what is known now.
func (r *run) result() *Result {
	res := &Result{Schema: Schema, Valid: true, A: r.Sides[0].Title, B: r.Sides[1].Title, Benchmarks: []Benchmark{}, Skipped: []Skipped{}, Equal: []string{}, Gates: []Gated{},
		Warnings: []string{}, Started: r.began.UTC(), Seconds: time.Since(r.began).Seconds(), Seed: r.Seed, Layouts: Layouts{Random: r.layouts, Reason: r.noLayouts}}
	metrics := map[*benchmark][]metric{}
	for _, b := range r.benchmarks {
		metrics[b] = r.metrics(b)
	}
	comparisons := r.compareAll(metrics)
	var floors []float64
	var scatters []Scatter
	missing, forIntervals, spent, short := time.Duration(0), time.Duration(0), time.Duration(0), 0
	var changed []string
	skipped := slices.Clone(r.skipped) // before what there was no time for
	for _, b := range r.benchmarks {
		spent += time.Duration(len(b.rounds)) * b.cost()
		if len(metrics[b]) == 0 {
			if b.failures < mostFailures {
				r.skip(Unmeasured, b.pkg.path, bareSuffix(b.name, b.procs), "%s", cmp.Or(b.pkg.broken, "there was no time for it"))
				if b.pkg.broken == "" {
					short++
					forIntervals += compare.MinSamples * r.cost(b)
				}
			}
			continue
		}
		_, some := b.units()
		x := Benchmark{Package: b.pkg.path, Name: bareSuffix(b.name, b.procs), Iterations: b.n, Generations: len(b.rounds), Scatter: scatter(b), Missing: append([]string{}, some...), Runs: b.count, untimed: b.untimed}
		if b.pkg.changed[b.function()] {
			changed = append(changed, x.Title())
		}
		longest := time.Duration(0)
		for i, m := range metrics[b] {
			c := comparisons[b][i]
			x.Metrics = append(x.Metrics, Metric{Unit: m.unit, A: m.was, B: m.is, Exact: m.exact, timed: m.timed, Suspected: b.suspects[m.unit], Comparison: c, Samples: m.pairs})
			if x.Verdict == "" || rank(c.Verdict) < rank(x.Verdict) {
				x.Verdict = c.Verdict
			}
			if c.Verdict == compare.NotDecided && !b.isUnlike(m.unit) {
				samples, among := m.deciding(b.suspects[m.unit], r.suspected)
				longest = max(longest, samples.Missing(among))
				if b.suspects[m.unit] && c.Interval == nil || c.Interval != nil && (c.Interval[0] > 1 || c.Interval[1] < 1) {
					longest = max(longest, leastConfirm*b.cost()) // to confirm it
				}
			}
			if m.unit == Time && c.NoiseFloor != nil {
				const widest = 0.2 // a wider one is of too few generations to say anything
				if f := max(math.Abs(c.NoiseFloor[0]-1), math.Abs(c.NoiseFloor[1]-1)); f <= widest {
					floors = append(floors, f)
				}
			}
		}
		if len(b.rounds) == 0 && x.Verdict == compare.Equal {
			x.Verdict = compare.NotDecided // allocations alone are known
		}
		missing += longest
		if n := compare.MinSamples - len(b.rounds); n > 0 && x.Verdict == compare.NotDecided {
			short++
			forIntervals += time.Duration(n) * r.cost(b)
		}
		if x.Scatter != nil {
			scatters = append(scatters, *x.Scatter)
		}
		res.Benchmarks = append(res.Benchmarks, x)
	}
	slices.SortStableFunc(res.Benchmarks, func(x, y Benchmark) int {
		return cmp.Or(rank(x.Verdict)-rank(y.Verdict), cmp.Compare(r.beyond(&y), r.beyond(&x)), cmp.Compare(y.size(), x.size()))
	})
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		b.title = res.suffix(b.Package) + "." + b.Name
	}
	for _, p := range r.equalPackages() {
		res.Equal = append(res.Equal, p.path)
	}
	if len(changed) > 0 {
		const most = 5
		r.warn("the code of %d benchmarks itself differs between the sides (%s): --tests-from a or b uses that of one side for both", len(changed), strings.Join(changed[:min(len(changed), most)], ", "))
	}
	if short > 0 {
		r.warn("the time sufficed for fewer than %d generations of %d benchmarks, which gives no interval: name fewer with --bench, or give more with --budget", compare.MinSamples, short)
	}
	if short > 0 {
		missing = forIntervals // before there are intervals, nothing says how long it takes to decide
		if len(r.benchmarks) > fewToScreen {
			// They come from the screen, which begins after the pilot.
			missing = max(missing, time.Duration(float64(spent+forIntervals+mostCount)/(longScreenShare-pilotShare))-r.Budget)
		}
	}
	res.TimeToDecide, res.short = math.Ceil(missing.Seconds()), short > 0
	res.Layouts.Floor = compare.Median(floors)
	if len(scatters) > 0 {
		res.Layouts.Median = middle(scatters)
	}
	res.Skipped, res.Warnings = append(res.Skipped, r.skipped...), append(res.Warnings, r.warnings...)
	if len(res.Benchmarks) == 0 && len(res.Equal) == 0 && !r.onlyNew() {
		res.Valid, res.Reason = false, ErrNothing.Error()+r.whyNothing()
	}
	for _, g := range r.Gates {
		res.Gates = append(res.Gates, res.check(g))
	}
	r.late(res, skipped)
	res.Answer, res.What, res.Sure = res.answer(), res.what(), res.sure()
	return res
}

// suffix is the shortest end of a package's path that no other package has.
func (r *Result) suffix(pkg string) string {
	short := path.Base(pkg)
	for len(short) < len(pkg) && slices.ContainsFunc(r.Benchmarks, func(b Benchmark) bool {
		return b.Package != pkg && strings.HasSuffix("/"+b.Package, "/"+short)
	}) {
		at := strings.LastIndexByte(strings.TrimSuffix(pkg, "/"+short), '/') + 1
		short = pkg[at:]
	}
	return short
}

// byName lists the benchmarks by package and name.
func (r *Result) byName() []Benchmark {
	return slices.SortedFunc(slices.Values(r.Benchmarks), func(x, y Benchmark) int {
		return cmp.Or(cmp.Compare(x.Package, y.Package), cmp.Compare(x.Name, y.Name))
	})
}

func rank(verdict string) int { return slices.Index(severity, verdict) }

// size is the largest difference of a benchmark by the units that have its verdict.
func (b *Benchmark) size() (most float64) {
	for _, m := range b.Metrics {
		if m.Comparison.Verdict != b.Verdict {
			continue
		}
		if m.Comparison.Ratio <= 0 {
			return math.Inf(1) // from 0
		}
		most = max(most, math.Abs(math.Log(m.Comparison.Ratio)))
	}
	return most
}

func middle(all []Scatter) *Scatter {
	of := func(figure func(Scatter) float64) float64 {
		var values []float64
		for _, s := range all {
			values = append(values, figure(s))
		}
		return compare.Median(values)
	}
	return &Scatter{Layout: of(func(s Scatter) float64 { return s.Layout }), Slice: of(func(s Scatter) float64 { return s.Slice }), Share: of(func(s Scatter) float64 { return s.Share })}
}

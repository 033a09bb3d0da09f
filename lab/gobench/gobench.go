// Package gobench compares the Go benchmarks of two versions of a module: it builds test binaries of
// both, lets them take turns under many layouts of their code, and says of each benchmark whether it
// is faster, slower, equal or not decided, with intervals.
//
// The linker's order of functions alone makes a program some percent faster or slower, and a commit
// that only moves functions about changes it. So a sample is a pair of binaries that were linked with
// independent random orders (-randlayout), not a pair of runs: a difference counts if it is larger
// than what layouts move. A screen of all benchmarks finds suspects; only what fresh samples then
// confirm is called faster or slower (compare.Holm), so that false alarms have a probability of 5%
// for a whole run and not for each benchmark. The statistics are those of package compare.
//
// What else uses a core, other guests of a virtual machine's host included, comes and goes within milliseconds
// and only slows down. So a slice is several short runs, where that measures the same, and the fastest counts
// (runs.go): its samples scatter a fifth as much as those of one long run.
//
// The package does not find or check out revisions (lab/revision), and has no opinion on what a
// benchmark stands for. It starts one process at a time, apart from two linkers side by side, and
// no goroutine that outlives Run.
package gobench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"dyno/lab/compare"
	"dyno/parts/process"
)

// Side is one of the two versions that are compared.
type Side struct {
	Title string   // for people: main@1a2b3c4d5e
	Dir   string   // folder in which the go command finds the packages
	Env   []string // variables that the go command needs there
}

// Options say what to compare.
type Options struct {
	Sides    [2]Side  // A, B
	Packages []string // as the go command takes them: ./..., ./codec, strings
	Bench    *regexp.Regexp
	Budget   time.Duration // of the measurement, without building; 0: DefaultBudget
	Gates    []compare.Gate
	// TestsFrom is the side (0 or 1) whose test files are used for both, so that benchmarks can be
	// compared that only one of them has; nil: each side has its own.
	TestsFrom *int
	CPUs      []int // values of GOMAXPROCS to measure with; empty: that of this process
	// AA means that both sides are the same: nothing is skipped because the binaries are equal.
	AA        bool
	NoLayouts bool     // do not link with random orders of functions
	Seed      uint64   // of all random choices; 0: a random one
	Warnings  []string // what the caller knows of the sides, for the result

	Say func(text string) // reports an event
	// Turn reports a turn: the number of the generation, what ran, and the time left.
	Turn func(generation int, text string, left time.Duration)
}

// DefaultBudget is enough to see 1 to 2% in five benchmarks on a quiet machine.
const DefaultBudget = 2 * time.Minute

// ErrNothing means that there was nothing to measure. Its text says why.
var ErrNothing = errors.New("no benchmark could be compared")

// ErrPackage is part of the error for packages that neither side has.
var ErrPackage = errors.New("neither side has the package")

// ErrUnit is part of the error for a gate on a unit that no benchmark reports.
var ErrUnit = errors.New("no benchmark reports")

// run is the state of one call of Run.
type run struct {
	Options
	random     *rand.Rand
	temp       string // everything that is built and written is below it
	began      time.Time
	deadline   time.Time
	toolchains [2]map[string]string // settings of the go command
	missing    [2][]string          // what was named and a side does not have
	packages   []*pkg
	benchmarks []*benchmark
	skipped    []Skipped
	warnings   []string
	units      map[string]int  // better direction of units, as benchmarks declare it
	reported   map[string]bool // units that benchmarks report
	layouts    bool
	noLayouts  string // why the layouts are not random
	generation int
	suspected  int // units of benchmarks that are confirmed

	// What tests of the statistics replace: how a process runs, and how both sides of a package are
	// linked, each with a new order of functions.
	runJob func(context.Context, job) (outcome, error)
	link   func(context.Context, *pkg) (paths [2]string, err error)
}

// Run compares the benchmarks of two versions. The result is not nil if anything was measured, even
// if an error, such as that of ctx, ended the run early. Everything that it builds is in a folder for
// temporary files, which is gone when it returns, or when the process is killed.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	temp, err := process.TempDir("dyno-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	r := &run{Options: o, temp: temp, warnings: slices.Clone(o.Warnings), random: rand.New(rand.NewPCG(o.Seed, 0)), units: map[string]int{}, reported: map[string]bool{CPU: true}}
	r.runJob, r.link = r.execute, r.pair
	if err := os.MkdirAll(r.scratch(), 0o755); err != nil {
		return nil, err
	}
	if err := r.build(ctx); err != nil {
		return nil, err
	}
	r.probeLayouts(ctx)
	r.began = time.Now()
	r.deadline = r.began.Add(o.Budget)
	err = r.pilot(ctx)
	if err == nil && len(r.benchmarks) == 0 && len(r.equalPackages()) == 0 && !r.onlyNew() {
		return nil, fmt.Errorf("%w%s", ErrNothing, r.whyNothing())
	}
	if err == nil {
		err = r.measure(ctx)
	}
	if err != nil && (len(r.benchmarks) == 0 || r.generation == 0) {
		return nil, err
	}
	return r.result(), err
}

// scratch is the folder for temporary files of the go command and of benchmarks.
func (r *run) scratch() string { return filepath.Join(r.temp, "tmp") }

func (r *run) skip(cause, pkg, name, why string, args ...any) {
	r.skipped = append(r.skipped, Skipped{pkg, name, cause, fmt.Sprintf(why, args...)})
}

// skipFailed skips what fails on a side. What then fails on the other as well, fails on both.
func (r *run) skipFailed(side int, pkg, name, why string) {
	why = r.Sides[side].Title + ": " + why
	for i := range r.skipped {
		s := &r.skipped[i]
		if s.Package == pkg && s.Name == name && s.Cause == failsOn[1-side] {
			s.Cause, s.Why = FailsOnBoth, s.Why+"; "+why
			return
		}
	}
	r.skip(failsOn[side], pkg, name, "%s", why)
}

func (r *run) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// whyNothing says why there is nothing to measure.
func (r *run) whyNothing() string {
	if len(r.skipped) > 0 {
		s := r.skipped[0]
		return fmt.Sprintf(": %s: %s", s.what(), s.Why)
	}
	text := fmt.Sprintf(": no package of %v has a benchmark that matches", r.Packages)
	if slices.ContainsFunc(r.Packages, func(p string) bool { return strings.Contains(p, "...") }) {
		text += "; folders that begin with _ or . and those with a go.mod of their own are not among them: run dyno bench there"
	}
	return text
}

func (r *run) equalPackages() (equal []*pkg) {
	for _, p := range r.packages {
		if p.equal {
			equal = append(equal, p)
		}
	}
	return equal
}

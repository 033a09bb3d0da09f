package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/gobench"
	"dyno/lab/probe/host"
	"dyno/lab/report/ci"
	"dyno/lab/report/format"
	"dyno/lab/report/history"
	"dyno/lab/report/progress"
	"dyno/lab/report/screen"
	"dyno/lab/revision"

	"github.com/spf13/cobra"
)

// leastBench is the least budget: enough for the pilot and the exact allocations of some benchmarks.
const leastBench = 5 * time.Second

// errNoBenchmark is the error of an interruption before there is a result.
var errNoBenchmark = errors.New("interrupted before any benchmark was measured; nothing was left behind")

// bench holds the flags and the state of dyno bench.
type bench struct {
	cmd                           *cobra.Command
	files                         verdictFiles
	a, b, pattern, gate, testFrom string
	json, all, aa, noPMQoS        bool
	options                       gobench.Options
	revisions                     [2]revision.Revision
}

func newBench() *cobra.Command {
	var c bench
	o := &c.options
	cmd := &cobra.Command{
		Use:   "bench [PACKAGE...]",
		Short: "Compare the Go benchmarks of two revisions, and decide",
		Long: `Bench builds the tests of Go packages (default ./...) at two revisions, by default HEAD and the folder as it is now,
and lets their benchmarks take turns of a tenth of a second or less, each in a fresh process. Every few turns both sides are
linked anew with a random order of functions, so that a change that only moves code about does not count. What a first
half of the time suspects, the second must confirm: in twenty runs of equal programs, one calls a benchmark faster or
slower, however many there are. It shows elapsed time and CPU time as ratios with intervals, and allocations exactly.

--gate takes conditions on B/A, as in 'ns/op<=1.03,allocs/op<=1', which must hold for every benchmark, else the exit code
is 3.`,
		Example: `  dyno bench ./...                         the working tree against HEAD
  dyno bench --a main --b . --bench 'Decode|Encode' ./pkg/codec --budget 90s --gate 'ns/op<=1.03,allocs/op<=1'
  dyno bench --aa strings sort             how much this machine makes equal programs differ`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&c.a, "a", "", "the revision to compare against (default HEAD)")
	f.StringVar(&c.b, "b", "", "the revision that may be better (default . for the folder as it is)")
	f.StringVar(&c.pattern, "bench", "", "regular expression of the benchmarks, as of go test")
	usage.Duration(f, &o.Budget, "budget", "", gobench.DefaultBudget, "time limit of the measurement, without building")
	f.StringVar(&c.gate, "gate", "", "conditions on the ratio B/A of every benchmark, as in 'ns/op<=1.03,allocs/op<=1'")
	f.StringVar(&c.testFrom, "tests-from", "", "a or b: use the tests of this side for both, for benchmarks that only one has")
	f.IntSliceVar(&o.CPUs, "cpu", nil, "values of GOMAXPROCS to measure with, as of go test")
	f.BoolVar(&c.aa, "aa", false, "compare B with itself: what is found is noise")
	f.BoolVar(&o.NoLayouts, "no-layouts", false, "keep the compiler's order of functions")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of all random choices (default random)")
	f.BoolVar(&c.all, "all", false, "list all benchmarks, not the worst ten")
	f.BoolVar(&c.json, "json", false, "print one JSON object on stdout, whatever the exit code")
	f.BoolVar(&c.noPMQoS, "no-pm-qos", false, "let virtual CPUs halt while measuring; for hosts that count CPU credits")
	f.StringVar(&c.files.junit, "junit", "", "file for the result as JUnit XML")
	f.StringVar(&c.files.markdown, "markdown", "", "file for the gates' verdicts and the result in Markdown")
	f.StringVar(&c.files.history, "history", "", "folder to which to append the result, for dyno history")
	f.StringVar(&c.files.benchstat, "benchstat", "", "folder for the samples as a.txt and b.txt, for benchstat a.txt b.txt")
	return cmd
}

// read checks the flags and fills in the options.
func (c *bench) read(args []string) (err error) {
	o := &c.options
	if o.Packages, err = packages(args); err != nil {
		return err
	}
	if c.pattern != "" {
		if o.Bench, err = regexp.Compile(c.pattern); err != nil {
			return usage.Errorf("--bench: %v", err)
		}
	}
	if c.gate != "" {
		if o.Gates, err = compare.ParseUnitGates(c.gate); err != nil {
			return usage.Of(err)
		}
	}
	if c.testFrom != "" {
		side := slices.Index([]string{"a", "b"}, strings.ToLower(c.testFrom))
		if side < 0 {
			return usage.Errorf("--tests-from takes a or b, not %q", c.testFrom)
		}
		o.TestsFrom = &side
	}
	for _, n := range o.CPUs {
		if n < 1 || n > 1<<10 {
			return usage.Errorf("--cpu takes values of GOMAXPROCS, as in 1,4, not %d", n)
		}
	}
	slices.Sort(o.CPUs)
	o.CPUs = slices.Compact(o.CPUs)
	switch {
	case o.Budget < leastBench:
		return usage.Errorf("--budget takes %v or more, not %v", leastBench, o.Budget)
	case c.aa && (c.a != "" || c.testFrom != ""):
		return usage.Errorf("--aa compares one revision with itself: name it with --b")
	}
	files := c.files
	files.benchstat = "" // a folder, which is made
	return files.Check()
}

// packages are the packages as the go command takes them in the folder of either side: a path that
// begins with / would be the same files on both.
func packages(args []string) ([]string, error) {
	if len(args) == 0 {
		return []string{"./..."}, nil
	}
	out := slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return nil, usage.Errorf("%q is not a package", arg)
		}
		if request.IsURL(arg) {
			return nil, usage.Errorf("bench compares the Go benchmarks of packages; dyno load %s sends load there", arg)
		}
		if !filepath.IsAbs(arg) {
			continue
		}
		here, err := os.Getwd()
		if err == nil {
			out[i], err = filepath.Rel(here, arg)
		}
		if err != nil {
			return nil, err
		}
		out[i] = "./" + filepath.ToSlash(out[i])
	}
	return out, nil
}

func (c *bench) run(ctx context.Context, args []string) error {
	if err := c.read(args); err != nil {
		return err
	}
	view := progress.New(os.Stderr)
	defer view.End()
	c.options.Say, c.options.Turn = view.Say, view.Turn
	closeSides, err := c.sides(ctx)
	if err != nil && ctx.Err() != nil {
		return &exit{exitFailed, errNoBenchmark}
	}
	if err != nil {
		return err
	}
	defer closeSides()
	if !c.noPMQoS {
		release, _, _ := host.Hold()
		defer release()
	}
	result, err := gobench.Run(ctx, c.options)
	view.End()
	switch {
	case errors.Is(err, gobench.ErrNothing):
		return &exit{exitInvalid, err}
	case errors.Is(err, gobench.ErrUnit), errors.Is(err, gobench.ErrPackage):
		return usage.Of(err)
	case result == nil && ctx.Err() != nil:
		return &exit{exitFailed, errNoBenchmark}
	}
	if result == nil {
		return err
	}
	result.Machine = host.Machine().String()
	if err != nil {
		result.Valid, result.Reason = false, err.Error()
		if ctx.Err() != nil {
			result.Reason = fmt.Sprintf("interrupted after %.0f s", result.Seconds)
		}
	}
	if showErr := c.show(result); showErr != nil {
		return errors.Join(err, showErr)
	}
	verdict := c.judge(result)
	if err == nil && !result.Valid {
		return &exit{exitInvalid, errors.New(result.Reason)}
	}
	return cmp.Or(err, verdict)
}

// sides finds the folders of both sides. Without a revision, --aa needs no git.
func (c *bench) sides(ctx context.Context) (closeSides func() error, err error) {
	names := [2]string{cmp.Or(c.a, "HEAD"), cmp.Or(c.b, revision.Here)}
	if c.aa {
		names[0] = names[1]
	}
	if names == [2]string{revision.Here, revision.Here} && c.aa {
		c.options.AA = true
		c.options.Sides = [2]gobench.Side{{Title: "folder", Dir: "."}, {Title: "folder again", Dir: "."}}
		return func() error { return nil }, nil
	}
	repository, err := revision.Open(ctx, ".")
	if err != nil {
		return nil, usage.Of(err)
	}
	defer func() {
		if err != nil {
			repository.Close()
		}
	}()
	repository.Say = c.options.Say
	for side, name := range names {
		if c.revisions[side], err = repository.Resolve(ctx, name); err != nil {
			return nil, usage.Of(err)
		}
		s := &c.options.Sides[side]
		s.Title = c.revisions[side].Title()
		folder, err := repository.Folder(ctx, c.revisions[side], ".")
		if err != nil {
			return nil, err
		}
		s.Dir, s.Env = folder.Dir, folder.Env
		c.outside(folder)
	}
	if c.aa {
		c.options.AA = true
		c.options.Sides[1].Title += " again"
	} else if c.revisions[0].Hash == c.revisions[1].Hash {
		err = usage.Errorf("A and B are both %s: name two different revisions with --a and --b, or compare one with itself by --aa", c.revisions[0].Title())
		return nil, err
	}
	return repository.Close, nil
}

// outside warns of what is the same on both sides although the revisions may differ in it.
func (c *bench) outside(f revision.Folder) {
	warn := func(text string) {
		if !slices.Contains(c.options.Warnings, text) {
			c.options.Warnings = append(c.options.Warnings, text)
		}
	}
	if f.Workspace != "" {
		warn(f.Workspace + " is in no commit: both sides are built with it as it is now; GOWORK=off leaves it out")
	}
	for _, dir := range f.Outside {
		warn(dir + " is not part of the revisions: both sides are built with it as it is now, so that its changes do not count")
	}
}

func (c *bench) show(r *gobench.Result) error {
	out := c.cmd.OutOrStdout()
	var err error
	if c.json {
		err = format.JSON(out, r)
	} else {
		err = gobench.Print(screen.Below(out), r, c.all, styleOf(os.Stdout).Width)
	}
	err = errors.Join(err,
		write(c.files.junit, func(w io.Writer) error { return ci.Suite(w, "dyno bench", r.Started, gobench.Cases(r)) }),
		write(c.files.markdown, func(w io.Writer) error { return gobench.Markdown(w, r) }))
	if c.files.benchstat != "" {
		err = errors.Join(err, gobench.Benchstat(c.files.benchstat, r))
	}
	if c.files.history == "" || !r.Valid || c.aa {
		return err
	}
	var earlier []history.Entry
	if _, missing := os.Stat(filepath.Join(c.files.history, history.File)); missing == nil {
		var readErr error
		if earlier, readErr = history.Read(c.files.history); readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	before, after := commit(c.revisions[0]), commit(c.revisions[1])
	for _, e := range gobench.Entries(r, after, before, earlier) {
		if appendErr := history.Append(c.files.history, e); appendErr != nil {
			return errors.Join(err, fmt.Errorf("appending to the history: %w", appendErr))
		}
	}
	return err
}

// judge prints the verdicts of the gates.
func (c *bench) judge(r *gobench.Result) error {
	for _, g := range r.Gates {
		fmt.Fprintln(c.cmd.ErrOrStderr(), g.Text)
	}
	if !r.Passes() {
		return errMissed
	}
	return nil
}

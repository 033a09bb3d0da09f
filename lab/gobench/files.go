package gobench

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/compare"
	"dyno/lab/report/ci"
	"dyno/lab/report/history"
)

// Benchstat writes the samples of both sides into a folder as a.txt and b.txt, in the format of Go
// benchmarks: a line for each generation. benchstat a.txt b.txt compares them, without the pairs.
func Benchstat(dir string, r *Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(r.benchstat(filepath.Join(dir, "a.txt"), 0), r.benchstat(filepath.Join(dir, "b.txt"), 1))
}

func (r *Result) benchstat(file string, side int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	pkg := ""
	for _, b := range r.byName() {
		if b.Package != pkg {
			pkg = b.Package
			fmt.Fprintf(w, "pkg: %s\n", pkg)
		}
		// Units that were confirmed have the samples of the last generations only; the others show the same.
		least := len(b.Metrics[0].Samples)
		for _, m := range b.Metrics {
			least = min(least, len(m.Samples))
		}
		for i := range least {
			fmt.Fprintf(w, "Benchmark%s %d", b.Name, b.Iterations)
			for _, m := range b.Metrics {
				fmt.Fprintf(w, " %s %s", strconv.FormatFloat(m.Samples[len(m.Samples)-least+i][side], 'g', -1, 64), m.Unit)
			}
			fmt.Fprintln(w)
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// Cases are the result as tests: one for each gate, and one for each benchmark, which is skipped
// without a verdict.
func Cases(r *Result) (out []ci.Case) {
	for _, g := range r.Gates {
		c := ci.Case{Class: "dyno.bench", Name: "gate " + g.Gate, Output: r.Answer}
		if g.Verdict != compare.Pass {
			c.Failure = g.Text
		}
		out = append(out, c)
	}
	if !r.Valid {
		out = append(out, ci.Case{Class: "dyno.bench", Name: "measurement", Error: r.Reason})
	}
	for _, b := range r.byName() {
		row := b.row()
		c := ci.Case{Class: b.Package, Name: "Benchmark" + b.Name, Output: strings.TrimSpace(strings.Join(row[2:], " "))}
		if b.Verdict == compare.NotDecided {
			c.Skipped = b.Verdict
		}
		out = append(out, c)
	}
	for _, s := range r.Skipped {
		c := ci.Case{Class: s.Package, Name: cmp.Or(s.Name, "package"), Skipped: s.Why}
		if s.Cause == FailsOnB {
			c.Skipped, c.Failure = "", s.Why
		}
		out = append(out, c)
	}
	return out
}

// Entries are the result for a history: one for each benchmark, also for those that earlier entries
// have of packages of which both sides build the same test binary.
func Entries(r *Result, revision, against history.Commit, earlier []history.Entry) (out []history.Entry) {
	entry := func(name string) history.Entry {
		return history.Entry{Schema: history.Schema, Name: name, Measured: r.Started, Revision: revision, Against: against, Machine: r.Machine,
			Figures: map[string]history.Figure{}, Before: map[string]history.Figure{}, Ratios: map[string]history.Ratio{}}
	}
	for _, b := range r.byName() {
		e := entry(b.Package + "." + b.Name)
		for _, m := range b.Metrics {
			c := m.Comparison
			if c.Interval == nil && c.Verdict == compare.NotDecided {
				continue // a sample or two say nothing
			}
			e.Before[m.Unit], e.Figures[m.Unit] = history.Figure{Value: m.A}, history.Figure{Value: m.B}
			e.Ratios[m.Unit] = history.Ratio{Ratio: c.Ratio, Interval: c.Interval, Samples: c.Samples, Verdict: c.Verdict}
		}
		if len(e.Figures) > 0 {
			out = append(out, e)
		}
	}
	for _, name := range history.Names(earlier) {
		if slices.ContainsFunc(r.Equal, func(pkg string) bool { return isOf(name, pkg) }) {
			e := entry(name)
			e.Same = true
			out = append(out, e)
		}
	}
	return out
}

// isOf reports whether a name in a history is that of a benchmark of a package: what follows the
// package's path is the name of a function, which has no dot, while another package's path may go on.
func isOf(name, pkg string) bool {
	rest, ok := strings.CutPrefix(name, pkg+".")
	function, _, _ := strings.Cut(rest, "/")
	return ok && !strings.Contains(function, ".") && benchmarkName.MatchString("Benchmark"+function)
}

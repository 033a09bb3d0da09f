package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"dyno/bench/command"
	"dyno/lab/compare"
	"dyno/lab/gobench"
)

// study is a kind of difference that is known, and what is counted of the runs.
type study struct {
	name   string
	runs   int
	budget time.Duration
	count  func(ctx context.Context, o *options, dir string, t *tally) error
}

var studies = map[string]study{
	"layouts":   {runs: 1, budget: 8 * time.Minute, count: layouts},
	"equal":     {runs: 24, budget: 15 * time.Second, count: equal},
	"moved":     {runs: 10, budget: 30 * time.Second, count: moved},
	"slower":    {runs: 20, budget: 90 * time.Second, count: slower},
	"beside":    {runs: 20, budget: 90 * time.Second, count: beside},
	"allocates": {runs: 10, budget: 10 * time.Second, count: allocates},
	"histories": {runs: len(changes), budget: 2 * time.Minute, count: histories},
}

// standard are packages of the standard library, with the benchmarks that the studies take.
var standard = []struct{ pkg, benchmarks string }{
	{"sort", "^BenchmarkSortInt1K$|^BenchmarkStableInt1K$|^BenchmarkSortString1K$"},
	{"container/heap", "^BenchmarkDup$"},
	{"encoding/json", "^BenchmarkCodeUnmarshal$|^BenchmarkCodeMarshal$|^BenchmarkDecoderStream$"},
	{"strings", "^BenchmarkGenericMatch1$|^BenchmarkByteByteReplaces$|^BenchmarkMapNoChanges$|^BenchmarkCountTorture$"},
	{"regexp", "^BenchmarkMatch$/^Hard$/^1K$|^BenchmarkMatch$/^Easy0$/^1K$|^BenchmarkOnePassShortA$"},
	{"go/parser", "^BenchmarkParseOnly$|^BenchmarkParse$"},
	{"compress/flate", "^BenchmarkDecode$/^Digits$/^Huffman$/^1e5$|^BenchmarkEncode$/^Digits$/^Default$/^1e5$"},
	{"bytes", "^BenchmarkIndexBytePortable$/^4K$|^BenchmarkReadString$"},
}

// layouts says how far the order of functions moves each benchmark.
func layouts(ctx context.Context, o *options, _ string, t *tally) error {
	args := []string{"--aa"}
	var all []string
	for _, s := range standard {
		args, all = append(args, s.pkg), append(all, s.benchmarks)
	}
	r, err := o.bench(ctx, ".", append(args, "--bench", strings.Join(all, "|"))...)
	if err != nil {
		return err
	}
	for _, b := range r.Benchmarks {
		m := b.Metric(gobench.Time)
		if b.Scatter == nil || m == nil {
			continue
		}
		row := t.row(strings.TrimPrefix(b.Package+"."+b.Name, "std/"))
		row["generations"], row["ns_per_op"] = float64(b.Generations), m.A
		row["layout_percent"], row["slice_percent"], row["layout_share"] = 100*b.Scatter.Layout, 100*b.Scatter.Slice, b.Scatter.Share
	}
	return nil
}

// equal counts false alarms on programs that do not differ.
func equal(ctx context.Context, o *options, _ string, t *tally) error {
	for n := range o.study.runs {
		s := standard[n%len(standard)]
		command.Say("%d of %d  %s", n+1, o.study.runs, s.pkg)
		r, err := o.bench(ctx, ".", "--aa", "--bench", s.benchmarks, s.pkg)
		if err != nil {
			return err
		}
		t.intervals(s.pkg, r)
	}
	return nil
}

// intervals counts a run of equal programs: the intervals, each comparison once, and those of them that hold 1.
func (t *tally) intervals(pkg string, r *gobench.Result) {
	for _, name := range []string{pkg, "all"} {
		t.add(name, "runs", 1)
		t.add(name, "alarms", count(alarms(r, "")))
		any := false
		for _, b := range r.Benchmarks {
			for _, m := range b.Metrics {
				if i := m.Comparison.Interval; i != nil && !m.Exact && !b.Repeats(&m) {
					any = true
					t.add(name, "intervals", 1)
					t.add(name, "covered", count(i[0] <= 1 && 1 <= i[1]))
				}
			}
		}
		t.add(name, "with_interval", count(any))
	}
}

// alarms reports whether a run calls a unit of any benchmark changed; "" means any unit.
func alarms(r *gobench.Result, unit string) bool {
	for _, b := range r.Benchmarks {
		for _, m := range b.Metrics {
			if unit != "" && m.Unit != unit {
				continue
			}
			switch m.Comparison.Verdict {
			case compare.Slower, compare.Faster, compare.Changed:
				return true
			}
		}
	}
	return false
}

// moved changes the order of functions alone.
func moved(ctx context.Context, o *options, dir string, t *tally) error {
	p, err := newProgram(ctx, dir)
	if err != nil {
		return err
	}
	for n := range o.study.runs {
		command.Say("%d of %d", n+1, o.study.runs)
		if err := p.commit(ctx, source{order: uint64(2 * n)}, source{order: uint64(2*n + 1)}); err != nil {
			return err
		}
		r, err := o.bench(ctx, dir, "--a", "HEAD~1", "--b", "HEAD")
		if err != nil {
			return err
		}
		t.add("dyno bench", "runs", 1)
		t.add("dyno bench", "alarms", count(alarms(r, gobench.Time)))
		found, err := p.benchstat(ctx)
		if err != nil {
			return err
		}
		t.add("benchstat, ten runs a side", "runs", 1)
		t.add("benchstat, ten runs a side", "alarms", count(found))
	}
	return nil
}

// slower makes one of the benchmarks do 3% more.
func slower(ctx context.Context, o *options, dir string, t *tally) error {
	return more(ctx, o, dir, t, 1030)
}

// beside makes one of them do 5% more, beside a neighbour.
func beside(ctx context.Context, o *options, dir string, t *tally) error {
	defer command.Burn()()
	return more(ctx, o, dir, t, 1050)
}

// more compares programs of which one benchmark does more rounds, another in each run.
func more(ctx context.Context, o *options, dir string, t *tally, rounds int) error {
	return o.each(ctx, dir, func(name string) source { return source{longer: name, rounds: rounds} }, func(name string, r *gobench.Result) {
		for _, b := range r.Benchmarks {
			changed, _, _ := strings.Cut(b.Name, "-")
			for unit, key := range map[string]string{gobench.Time: "found", gobench.CPU: "found_by_cpu"} {
				t.found(name, key, changed == name, b.Metric(unit))
			}
		}
	}, t)
}

// allocates adds an allocation to one benchmark, another in each run.
func allocates(ctx context.Context, o *options, dir string, t *tally) error {
	return o.each(ctx, dir, func(name string) source { return source{allocate: name} }, func(name string, r *gobench.Result) {
		for _, b := range r.Benchmarks {
			changed, _, _ := strings.Cut(b.Name, "-")
			t.found(name, "found", changed == name, b.Metric(gobench.Allocs))
		}
	}, t)
}

// each compares the first version with one in which a benchmark is changed, another in each run.
func (o *options) each(ctx context.Context, dir string, change func(name string) source, count func(name string, r *gobench.Result), t *tally) error {
	p, err := newProgram(ctx, dir)
	if err != nil {
		return err
	}
	for n := range o.study.runs {
		name := benchmarks[n%len(benchmarks)]
		command.Say("%d of %d  %s", n+1, o.study.runs, name)
		if err := p.commit(ctx, source{}, change(name)); err != nil {
			return err
		}
		r, err := o.bench(ctx, dir, "--a", "HEAD~1", "--b", "HEAD")
		if err != nil {
			return err
		}
		t.add(name, "runs", 1)
		t.add("all", "runs", 1)
		count(name, r)
	}
	return nil
}

// found counts a change that is claimed: where there is one, and in the right direction, it is found; else
// it is wrong.
func (t *tally) found(name, key string, changed bool, m *gobench.Metric) {
	claimed := m != nil && (m.Comparison.Verdict == compare.Slower || m.Comparison.Verdict == compare.Faster)
	right := claimed && changed && m.Comparison.Verdict == compare.Slower
	for _, row := range []string{name, "all"} {
		t.add(row, key, count(right))
		t.add(row, "wrong", count(claimed && !right))
	}
}

// bench runs dyno bench in a folder, and reads the object that it prints also when its exit code says
// that a benchmark is slower.
func (o *options) bench(ctx context.Context, dir string, args ...string) (*gobench.Result, error) {
	cmd := exec.CommandContext(ctx, o.dyno, append([]string{"bench", "--json", "--all", "--budget", o.study.budget.String()}, args...)...)
	cmd.Dir = dir
	r := &gobench.Result{}
	err := command.Object(cmd, r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if len(r.Benchmarks) == 0 {
		return nil, fmt.Errorf("dyno bench measured nothing: %s", r.Reason)
	}
	return r, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

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
	"slower":    {runs: 4, budget: 90 * time.Second, count: slower},
	"beside":    {runs: 4, budget: 90 * time.Second, count: beside},
	"allocates": {runs: 10, budget: 10 * time.Second, count: allocates},
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
		say("%d of %d  %s", n+1, o.study.runs, s.pkg)
		r, err := o.bench(ctx, ".", "--aa", "--bench", s.benchmarks, s.pkg)
		if err != nil {
			return err
		}
		for _, name := range []string{s.pkg, "all"} {
			t.add(name, "runs", 1)
			t.add(name, "alarms", count(alarms(r, "")))
			for _, b := range r.Benchmarks {
				for _, m := range b.Metrics {
					if i := m.Comparison.Interval; i != nil && !m.Exact {
						t.add(name, "intervals", 1)
						t.add(name, "covered", count(i[0] <= 1 && 1 <= i[1]))
					}
				}
			}
		}
	}
	return nil
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
		say("%d of %d", n+1, o.study.runs)
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

// slower makes each benchmark do 3% more.
func slower(ctx context.Context, o *options, dir string, t *tally) error {
	return more(ctx, o, dir, t, 1030)
}

// beside makes each benchmark do 5% more, beside a neighbour.
func beside(ctx context.Context, o *options, dir string, t *tally) error {
	burning, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); burn(burning) }()
	defer func() { stop(); <-ended }()
	return more(ctx, o, dir, t, 1050)
}

// burn takes a core half of the time.
func burn(ctx context.Context) {
	const half = 10 * time.Millisecond
	for ctx.Err() == nil {
		for began := time.Now(); time.Since(began) < half; {
		}
		time.Sleep(half)
	}
}

// more compares programs whose benchmarks do 1000 and size rounds.
func more(ctx context.Context, o *options, dir string, t *tally, size int) error {
	p, err := newProgram(ctx, dir)
	if err != nil {
		return err
	}
	if err := p.commit(ctx, source{}, source{size: size}); err != nil {
		return err
	}
	for n := range o.study.runs {
		say("%d of %d", n+1, o.study.runs)
		r, err := o.bench(ctx, dir, "--a", "HEAD~1", "--b", "HEAD")
		if err != nil {
			return err
		}
		for _, b := range r.Benchmarks {
			for _, name := range []string{b.Name, "all"} {
				t.add(name, "runs", 1)
				for unit, key := range map[string]string{gobench.Time: "found", gobench.CPU: "found_by_cpu"} {
					m := b.Metric(unit)
					t.add(name, key, count(m != nil && m.Comparison.Verdict == compare.Slower))
					t.add(name, "wrong", count(m != nil && m.Comparison.Verdict == compare.Faster))
				}
			}
		}
	}
	return nil
}

// allocates adds an allocation to one benchmark.
func allocates(ctx context.Context, o *options, dir string, t *tally) error {
	p, err := newProgram(ctx, dir)
	if err != nil {
		return err
	}
	if err := p.commit(ctx, source{}, source{allocate: true}); err != nil {
		return err
	}
	for n := range o.study.runs {
		say("%d of %d", n+1, o.study.runs)
		r, err := o.bench(ctx, dir, "--a", "HEAD~1", "--b", "HEAD")
		if err != nil {
			return err
		}
		t.add("one more allocation", "runs", 1)
		for _, b := range r.Benchmarks {
			m := b.Metric(gobench.Allocs)
			bad := m != nil && m.Comparison.Verdict == compare.Slower
			switch {
			case strings.HasPrefix(b.Name, allocating):
				t.add("one more allocation", "found", count(bad))
			default:
				t.add("one more allocation", "wrong", count(bad))
			}
		}
	}
	return nil
}

// bench runs dyno bench in a folder, and reads the object that it prints also when its exit code says
// that a benchmark is slower.
func (o *options) bench(ctx context.Context, dir string, args ...string) (*gobench.Result, error) {
	cmd := exec.CommandContext(ctx, o.dyno, append([]string{"bench", "--json", "--all", "--budget", o.study.budget.String()}, args...)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, through this process
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	text, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r := &gobench.Result{}
	if jsonErr := json.Unmarshal(text, r); jsonErr != nil {
		return nil, errors.Join(err, fmt.Errorf("dyno bench printed no object: %s", log.String()))
	}
	if len(r.Benchmarks) == 0 {
		return nil, fmt.Errorf("dyno bench measured nothing: %s", r.Reason)
	}
	return r, nil
}

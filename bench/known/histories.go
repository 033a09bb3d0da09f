package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"dyno/bench/command"
	"dyno/lab/compare"
	"dyno/lab/gobench"
)

// history is a change between two versions of a module of other authors, as their changelog has it.
type history struct {
	module, a, b string
	pkg          string // of the benchmark, in the module's folder
	bench        string // the pattern that selects it alone
	name         string // its name as dyno bench prints it, without the suffix of GOMAXPROCS
	unit         string
	expected     string // the verdict that agrees with the changelog
	says         string // what the changelog says
	page         string // where it says that
}

// changes are the histories. Both versions of each have the benchmark, and need few modules or none.
var changes = []history{
	{
		"github.com/go-chi/chi", "v1.5.1", "v1.5.2", ".", "^BenchmarkMux$/^route:$/^hi$", "Mux/route:/hi", gobench.Allocs, compare.Slower,
		"reverting allocation optimization", "https://github.com/go-chi/chi/blob/v1.5.2/CHANGELOG.md",
	},
	{
		"github.com/go-chi/chi", "v1.5.1", "v1.5.2", ".", "^BenchmarkMux$/^route:$/^hi$", "Mux/route:/hi", gobench.Time, compare.Slower,
		"reverting allocation optimization", "https://github.com/go-chi/chi/blob/v1.5.2/CHANGELOG.md",
	},
	{
		"github.com/sirupsen/logrus", "v1.9.4", "v1.10.0", ".", "^BenchmarkLargeTextFormatter$", "LargeTextFormatter", gobench.Allocs, compare.Faster,
		"TextFormatter: allocation counts reduced by 25-74%", "https://github.com/sirupsen/logrus/blob/v1.10.0/CHANGELOG.md",
	},
	{
		"github.com/sirupsen/logrus", "v1.9.4", "v1.10.0", ".", "^BenchmarkSmallColoredTextFormatter$", "SmallColoredTextFormatter", gobench.Time, compare.Faster,
		"TextFormatter: up to 40% faster", "https://github.com/sirupsen/logrus/blob/v1.10.0/CHANGELOG.md",
	},
	{
		"github.com/pelletier/go-toml/v2", "v2.3.1", "v2.4.0", "./benchmark", "^BenchmarkUnmarshal$/^HugoFrontMatter$", "Unmarshal/HugoFrontMatter", gobench.Time, compare.Faster,
		"performance: reimplementation of the parser, decoder, and encoder", "https://github.com/pelletier/go-toml/releases/tag/v2.4.0",
	},
	{
		"github.com/pelletier/go-toml/v2", "v2.2.4", "v2.3.0", "./benchmark", "^BenchmarkUnmarshal$/^HugoFrontMatter$", "Unmarshal/HugoFrontMatter", gobench.Allocs, compare.Equal,
		"zero additional allocations on benchmarks", "https://github.com/pelletier/go-toml/releases/tag/v2.3.0",
	},
	{
		"github.com/cespare/xxhash/v2", "v2.2.0", "v2.3.0", ".", "^BenchmarkSum64$/^4KB$", "Sum64/4KB", gobench.Time, compare.Equal,
		"custom seeds; Sum64 has a zero seed, as before", "https://github.com/cespare/xxhash/compare/v2.2.0...v2.3.0",
	},
}

// title names the row.
func (h history) title() string {
	return fmt.Sprintf("%s %s, %s: %s, %s", strings.TrimPrefix(h.module, "github.com/"), h.a, h.b, h.name, h.unit)
}

// histories compares two versions of each module, and counts the verdicts that agree with its changelog.
func histories(ctx context.Context, o *options, dir string, t *tally) error {
	for n := range o.study.runs {
		h := changes[n%len(changes)]
		command.Say("%d of %d  %s", n+1, o.study.runs, h.title())
		folder := filepath.Join(dir, fmt.Sprint(n))
		if err := h.lay(ctx, folder); err != nil {
			return err
		}
		r, err := o.bench(ctx, folder, "--a", "HEAD~1", "--b", "HEAD", "--bench", h.bench, h.pkg)
		if err != nil {
			return fmt.Errorf("%s: %w", h.title(), err)
		}
		if err := h.judge(r, t); err != nil {
			return err
		}
	}
	return nil
}

// lay makes a git repository of two commits, the two versions as the Go module proxy has them.
func (h history) lay(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	p := &program{dir}
	if err := p.do(ctx, "git", "init", "-q"); err != nil {
		return err
	}
	for _, version := range []string{h.a, h.b} {
		from, err := download(ctx, filepath.Dir(dir), h.module+"@"+version)
		if err != nil {
			return err
		}
		if err := p.replace(from); err != nil {
			return err
		}
		if err := p.record(ctx); err != nil {
			return err
		}
	}
	return nil
}

// download returns the folder of a version in the module cache. It runs in a folder outside of the module.
func download(ctx context.Context, dir, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var log bytes.Buffer
	cmd.Stderr = &log
	text, err := cmd.Output()
	var found struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &found); err != nil || jsonErr != nil || found.Dir == "" {
		return "", fmt.Errorf("downloading %s from GOPROXY: %s%s", version, found.Error, log.String())
	}
	return found.Dir, nil
}

// replace leaves in the repository the files of a folder, and no others.
func (p *program) replace(from string) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.dir, e.Name())); err != nil {
			return err
		}
	}
	return os.CopyFS(p.dir, os.DirFS(from))
}

// judge counts whether the verdict on the benchmark agrees with the changelog.
// The figures beside the counts are those of the last run.
func (h history) judge(r *gobench.Result, t *tally) error {
	m := h.metric(r)
	if m == nil {
		return fmt.Errorf("%s: dyno bench has no %s of it: %s", h.title(), h.unit, r.Answer)
	}
	verdict := m.Comparison.Verdict
	decided := verdict != compare.NotDecided && verdict != compare.Invalid
	for _, name := range []string{h.title(), "all"} {
		t.add(name, "runs", 1)
		t.add(name, "right", count(verdict == h.expected))
		t.add(name, "wrong", count(decided && verdict != h.expected))
		t.add(name, "undecided", count(!decided))
	}
	row := t.row(h.title())
	row["expected"], row["verdict"] = h.expected, verdict
	row["change"] = fmt.Sprintf("[%s](%s)", h.says, h.page)
	row["b_over_a"] = m.Comparison.Ratio
	if i := m.Comparison.Interval; i != nil {
		row["b_over_a_interval"] = *i
	}
	return nil
}

// metric returns the figures of the history's benchmark and unit; nil: there are none.
func (h history) metric(r *gobench.Result) *gobench.Metric {
	for i, b := range r.Benchmarks {
		if b.Name == h.name || strings.HasPrefix(b.Name, h.name+"-") {
			return r.Benchmarks[i].Metric(h.unit)
		}
	}
	return nil
}

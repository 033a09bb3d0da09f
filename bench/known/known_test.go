package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/bench/stored"
	"dyno/lab/compare"
	"dyno/lab/gobench"
)

// Every version builds, and none is like another.
func TestVersions(t *testing.T) {
	seen := map[string]string{}
	for _, v := range []source{{}, {order: 1}, {order: 2}, {longer: "Hash", rounds: 1030}, {longer: "Heap", rounds: 1030}, {allocate: "Words"}} {
		files := v.files()
		all := files["known.go"] + files["known_test.go"]
		if other, ok := seen[all]; ok {
			t.Errorf("%+v is like %s", v, other)
		}
		seen[all] = fmt.Sprintf("%+v", v)
		dir := filepath.Join(t.TempDir(), "program")
		p, err := newProgram(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.commit(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if err := p.do(context.Background(), "go", "vet", "."); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

func TestChangedOfBenchstat(t *testing.T) {
	for line, want := range map[string]bool{
		"Heap-2     12.19µ ± 1%   12.40µ ± 0%  +1.74% (p=0.000 n=10)": true,
		"Words-2    54.31µ ± 2%   54.20µ ± 1%       ~ (p=0.631 n=10)": false,
		"geomean    25.72µ        25.92µ       +0.78%":                false,
	} {
		if got := changed.MatchString("       │ 0.out │\n" + line + "\n"); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestAlarms(t *testing.T) {
	r := &gobench.Result{Benchmarks: []gobench.Benchmark{{Metrics: []gobench.Metric{
		{Unit: gobench.Time, Comparison: compare.Comparison{Verdict: compare.NotDecided}},
		{Unit: gobench.CPU, Comparison: compare.Comparison{Verdict: compare.Slower}},
	}}}}
	if !alarms(r, "") || alarms(r, gobench.Time) {
		t.Error("one unit of two is slower")
	}
}

// A comparison that two units share counts once, and a run without an interval is seen.
func TestIntervals(t *testing.T) {
	of := func(low, high float64) compare.Comparison {
		return compare.Comparison{Interval: &[2]float64{low, high}}
	}
	sum := &tally{}
	for _, r := range []*gobench.Result{
		{Benchmarks: []gobench.Benchmark{
			{Runs: 10, Metrics: []gobench.Metric{{Unit: gobench.Time, Comparison: of(0.9, 1.1)}, {Unit: gobench.CPU, Comparison: of(0.9, 1.1)}}},
			{Runs: 1, Metrics: []gobench.Metric{{Unit: gobench.Time, Comparison: of(1.01, 1.1)}, {Unit: gobench.CPU, Comparison: of(0.9, 1.1)}, {Unit: gobench.Allocs, Exact: true, Comparison: of(1, 1)}}},
		}},
		{Benchmarks: []gobench.Benchmark{{Runs: 1, Metrics: []gobench.Metric{{Unit: gobench.Time}}}}},
	} {
		sum.intervals("sort", r)
	}
	for _, name := range []string{"sort", "all"} {
		if row := sum.row(name); row["runs"] != 2.0 || row["intervals"] != 3.0 || row["covered"] != 2.0 || row["with_interval"] != 1.0 {
			t.Errorf("%s: %v", name, row)
		}
	}
}

// Runs of one dyno add up; those of another begin anew.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	result := func(commit string, others float64) results {
		sum := &tally{}
		sum.add("all", "runs", 2)
		return results{Steps: sum.rows, Made: stored.Made{Commit: commit, Command: []string{"go", "run", "./bench/known", "equal"}, Others: &others}}
	}
	for _, step := range []struct {
		commit        string
		others        float64
		runs, highest float64
	}{{"a", 0.02, 2, 0.02}, {"a", 0.01, 4, 0.02}, {"b", 0.01, 2, 0.01}} {
		got, err := result(step.commit, step.others).keep(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Steps[0]["runs"] != step.runs || *got.Made.Others != step.highest {
			t.Errorf("%+v: %v", step, got)
		}
	}
}

func TestParse(t *testing.T) {
	var out strings.Builder
	for args, want := range map[string]string{"": "name one study", "nosuch": `no study "nosuch"`, "equal --runs 0": "1 to 1000", "equal --runs x": "invalid"} {
		if _, err := parse(strings.Fields(args), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	o, err := parse([]string{"equal", "--runs", "3"}, &out)
	if err != nil || o.study.runs != 3 || o.study.budget == 0 {
		t.Errorf("%+v, %v", o, err)
	}
	// Another budget is another command, whose counts are not added.
	for args, want := range map[string]string{"equal --runs 3": "go run ./bench/known equal", "equal --budget 15s": "go run ./bench/known equal", "slower --budget 5m": "go run ./bench/known slower --budget 5m0s"} {
		if o, err := parse(strings.Fields(args), &out); err != nil || strings.Join(o.command(), " ") != want {
			t.Errorf("%q: %v, %v", args, o, err)
		}
	}
}

// The histories can be measured, and each has a row.
func TestChanges(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range changes {
		if seen[h.title()] {
			t.Errorf("%s is there twice", h.title())
		}
		seen[h.title()] = true
		if !slices.Contains([]string{compare.Slower, compare.Faster, compare.Equal}, h.expected) || !strings.HasPrefix(h.page, "https://") || h.says == "" || h.unit == "" {
			t.Errorf("%+v", h)
		}
		// As the testing package does: a pattern for each level of the name.
		levels := strings.Split("Benchmark"+h.name, "/")
		for i, pattern := range strings.Split(h.bench, "/") {
			if matched, err := regexp.MatchString(pattern, levels[min(i, len(levels)-1)]); err != nil || !matched {
				t.Errorf("%s does not select %s: %v", h.bench, h.name, err)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	h := history{module: "example.com/m", a: "v1.0.0", b: "v1.1.0", name: "Decode/a-b", unit: gobench.Time, expected: compare.Faster}
	measured := func(name, verdict string) *gobench.Result {
		interval := [2]float64{0.7, 0.9}
		return &gobench.Result{Benchmarks: []gobench.Benchmark{{Name: name, Metrics: []gobench.Metric{
			{Unit: gobench.Time, Comparison: compare.Comparison{Verdict: verdict, Ratio: 0.8, Interval: &interval}},
		}}}}
	}
	sum := &tally{}
	for _, verdict := range []string{compare.Faster, compare.Slower, compare.Equal, compare.NotDecided} {
		if err := h.judge(measured("Decode/a-b-2", verdict), sum); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{h.title(), "all"} {
		if row := sum.row(name); row["runs"] != 4.0 || row["right"] != 1.0 || row["wrong"] != 2.0 || row["undecided"] != 1.0 {
			t.Errorf("%s: %v", name, row)
		}
	}
	if row := sum.row(h.title()); row["b_over_a"] != 0.8 || row["b_over_a_interval"] != [2]float64{0.7, 0.9} {
		t.Errorf("%v", row)
	}
	if err := h.judge(measured("Decode/a", compare.Faster), sum); err == nil {
		t.Error("the benchmark was not measured")
	}
}

// The second version has no file of the first, and has those that its .gitignore names.
func TestReplace(t *testing.T) {
	p, err := newProgram(t.Context(), filepath.Join(t.TempDir(), "program"))
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{{"old.go": "package m\n"}, {".gitignore": "*.golden\n", "new.golden": "x\n"}} {
		from := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.replace(from); err != nil {
			t.Fatal(err)
		}
		if err := p.record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "ls-tree", "--name-only", "HEAD")
	cmd.Dir = p.dir
	if list, err := cmd.Output(); err != nil || string(list) != ".gitignore\nnew.golden\n" {
		t.Errorf("%s %v", list, err)
	}
}

// The names of benchmarks in the standard library are those of today.
func TestStandard(t *testing.T) {
	for _, s := range standard {
		list, err := exec.Command("go", "list", "-f", "{{.Standard}}", s.pkg).Output()
		if err != nil || !slices.Contains(strings.Fields(string(list)), "true") {
			t.Errorf("%s: %s %v", s.pkg, list, err)
		}
	}
}

package gobench

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/quicktest"
)

// looked makes a run of one package that a job of a test looks at.
func looked(job func(context.Context, job) (outcome, error)) *run {
	r := &run{Options: Options{Budget: DefaultBudget}, units: map[string]int{}, reported: map[string]bool{}, runJob: job, began: time.Now(), deadline: time.Now().Add(DefaultBudget)}
	r.packages = []*pkg{{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}}
	return r
}

// A benchmark that takes minutes is skipped by its name, and the others are measured.
func TestASlowBenchmark(t *testing.T) {
	for name, slow := range map[string]string{"on both sides": "a b", "on B": "b"} {
		synctest.Test(t, func(t *testing.T) {
			r := looked(func(ctx context.Context, j job) (o outcome, err error) {
				time.Sleep(5 * time.Millisecond)
				for _, name := range []string{"Quick", "Soak", "Last", "Last/of"} {
					if matched, _ := regexp.MatchString(j.skip, "Benchmark"+name); j.skip != "" && matched {
						continue
					}
					o.last = name
					if took := 70 * time.Second; name == "Soak" && strings.Contains(slow, j.path) {
						time.Sleep(min(took, j.limit))
						return outcome{output: o.output, last: name, late: j.limit < took, err: errors.New("late")}, ctx.Err()
					}
					o.readings = append(o.readings, reading{name, 10000, map[string]float64{Time: 1000}})
				}
				return o, nil
			})
			if err := r.find(t.Context(), r.packages[0], 1); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, b := range r.benchmarks {
				names = append(names, b.name)
			}
			slices.Sort(names)
			if !slices.Equal(names, []string{"Last", "Last/of", "Quick"}) {
				t.Errorf("%s: it measures %v", name, names)
			}
			if len(r.skipped) != 1 || r.skipped[0].Name != "Soak" || r.skipped[0].Cause != Unmeasured || !strings.Contains(r.skipped[0].Why, "within 12s") {
				t.Errorf("%s: %+v", name, r.skipped)
			}
			if took := time.Since(r.began); took > r.Budget/4 {
				t.Errorf("%s: the first look takes %v", name, took)
			}
		})
	}
}

// The same of real programs.
func TestASlowBenchmarkRuns(t *testing.T) {
	quicktest.Skip(t, "waits for a slow benchmark")
	dir := modules(t)
	for side, n := range map[string]string{"a": "1", "b": "2"} {
		text := "package m\n\nimport (\"testing\"; \"time\")\n\nfunc BenchmarkQuick(b *testing.B) { for range b.N { sink = make([]byte, " + n + ") } }\nvar sink []byte\n" +
			"func BenchmarkSoak(b *testing.B) { b.Run(\"x\", func(b *testing.B) { time.Sleep(time.Hour) }); b.Run(\"y\", BenchmarkQuick) }\nfunc BenchmarkThen(b *testing.B) { BenchmarkQuick(b) }\n"
		if err := os.WriteFile(filepath.Join(dir, side, "m/m_test.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := options(dir, 30*time.Second)
	o.Packages = []string{"./m"}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, b := range r.Benchmarks {
		names[strings.Split(b.Name, "-")[0]] = true
	}
	if want := map[string]bool{"Quick": true, "Soak/y": true, "Then": true}; !maps.Equal(names, want) || len(r.Skipped) != 1 || r.Skipped[0].Name != "Soak/x" {
		t.Errorf("it measures %v and skips %+v", names, r.Skipped)
	}
}

package scenario

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/workload"
)

func TestJobsByConcurrency(t *testing.T) {
	s, err := Parse("x.yaml", []byte(`
name: x
mode: sweep
target: {build: ./x}
load: {kind: jobs, axis: concurrency, units: 1000, args: [--workers, "${concurrency}", --to, "${units}", --debug, "${debug}"]}
variants:
  - {name: serial, load: {args: [--to, "${units}"]}}
  - {name: short, load: {units: 100, concurrency: [4, 8]}}
  - {name: long}
measure: {concurrency: [1, 2, 3]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		concurrency []int
		units       int
	}{{[]int{1}, 1000}, {[]int{4, 8}, 100}, {[]int{1, 2, 3}, 1000}} {
		v := s.Variants[i]
		if got := s.ConcurrencyOf(v); !slices.Equal(got, want.concurrency) || s.LoadOf(v).Units != want.units {
			t.Errorf("%s runs at %v with %d units, want %v", v.Name, got, s.LoadOf(v).Units, want)
		}
	}
	if s.Load.Traits().Axis != workload.AxisConcurrency || s.Parallel(s.Variants[0]) || !s.Parallel(s.Variants[2]) {
		t.Error("a job without ${concurrency} works through one unit after the other, and only that")
	}
}

// Jobs that are compared may choose their own concurrency, and each may name the variant that it
// is compared with.
func TestJobsThatAreCompared(t *testing.T) {
	const text = `
name: x
mode: compare
target: {build: ./x}
load: {kind: jobs, axis: concurrency, feeder: {command: [feed], format: csv}, args: [--rows, "${rows}"]}
slo: p50=1s
variants:
  - {name: ours, load: {args: [--workers, "${concurrency}"]}}
  - {name: rival}
  - {name: ours-1, load: {args: [--workers, "${concurrency}"], concurrency: [1]}}
  - {name: rival-1, beside: ours-1}
measure: {cpu: all, concurrency: [32, 64]}
`
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{32, 64}, {1}, {1}, {1}} {
		if got := s.ConcurrencyOf(s.Variants[i]); !slices.Equal(got, want) {
			t.Errorf("%s is tried at %v, want %v", s.Variants[i].Name, got, want)
		}
	}
	if s.Variants[3].Reference != "ours-1" {
		t.Errorf("%+v", s.Variants[3])
	}
	for _, c := range []struct{ old, new, want string }{
		{"beside: ours-1", "beside: ours-2", `did you mean "ours-1"?`},
		{"beside: ours-1", "beside: rival-1", "not with itself"},
		{"mode: compare", "mode: ladder", "beside: belongs to mode: compare"},
		{"kind: jobs, axis: concurrency", "url: http://x/", "cpu: belongs to load.kind: jobs"},
		{"mode: compare", "mode: ladder", "never mentions ${concurrency}"},
		{"{command: [feed], format: csv}", "{command: [feed]}", "needs format"},
		{"feeder: {command: [feed], format: csv}, ", "", "${rows}: unknown placeholder"},
		{"concurrency: [32, 64]", "concurrency: [32], max_concurrency: 64", "bounds a search"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(text, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

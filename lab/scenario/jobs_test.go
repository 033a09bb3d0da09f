package scenario

import (
	"slices"
	"testing"
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
	if !s.ByConcurrency() || s.Parallel(s.Variants[0]) || !s.Parallel(s.Variants[2]) {
		t.Error("a job without ${concurrency} works through one unit after the other, and only that")
	}
}

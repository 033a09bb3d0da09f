package gobench

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Both slices of a block run on the same CPU, which changes from block to block, from the second generation
// on: the first shows whether one suffices.
func TestBlocksOnOneCPU(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		uses   func(o *outcome)
		pinned bool
	}{
		{"one goroutine", func(o *outcome) { o.cpu, o.waits = o.wall, int64(2000*o.wall.Seconds()) }, true},
		{"two at work", func(o *outcome) { o.cpu = 2 * o.wall }, false},
		{"two that hand over", func(o *outcome) { o.cpu, o.waits = o.wall, int64(50_000*o.wall.Seconds()) }, false},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			m := &machine{random: rand.New(rand.NewPCG(1, 6)), layout: 0.01, slice: 0.02}
			r := &run{Options: Options{Budget: 20 * time.Second}, random: m.random, layouts: true, began: time.Now(), deadline: time.Now().Add(20 * time.Second), temp: dir, reported: map[string]bool{Time: true}, units: map[string]int{}, link: m.link, allowed: []int{4, 7}}
			b := &benchmark{pkg: &pkg{path: "p", sides: [2]*binary{{path: "a"}, {path: "b"}}}, name: "B0", procs: 2, count: 1}
			b.size(1000, 5*time.Millisecond)
			r.benchmarks = append(r.benchmarks, b)
			used := map[int]int{}
			var last []int
			r.runJob = func(ctx context.Context, j job) (outcome, error) {
				began := time.Now()
				o, err := m.run(ctx, j)
				o.wall = time.Since(began)
				tt.uses(&o)
				switch {
				case j.time == "2x":
				case len(b.rounds) == 0 && j.cpus != nil:
					t.Errorf("%s: the first generation is on %v", tt.name, j.cpus)
				case last == nil:
					last = append([]int{}, j.cpus...)
				default:
					if !slices.Equal(last, j.cpus) {
						t.Errorf("%s: one slice on %v, the other on %v", tt.name, last, j.cpus)
					}
					if last = nil; len(j.cpus) == 1 {
						used[j.cpus[0]]++
					}
				}
				return o, err
			}
			if err := r.measure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if pinned := used[4] > 0 && used[7] > 0; pinned != tt.pinned || b.single() != tt.pinned {
				t.Errorf("%s: blocks by CPU: %v", tt.name, used)
			}
		})
	}
}

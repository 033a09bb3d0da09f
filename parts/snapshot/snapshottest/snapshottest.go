// Package snapshottest holds what every snapshot must do, as tests and as benchmarks, so that a new implementation
// is accepted or refused by the same measure as the old ones. It is not for what a service keeps in one.
// Its tests wait for the goroutines that they start.
package snapshottest

import (
	"maps"
	"runtime"
	"sync"
	"testing"

	"dyno/parts/snapshot"

	"pgregory.net/rapid"
)

// New makes the snapshot under test.
type New = snapshot.Constructor[int, int, int]

type change = snapshot.Change[int, int, int]

// Test runs the suite.
func Test(t *testing.T, build New) {
	t.Run("is empty at first", func(t *testing.T) { empty(t, build) })
	t.Run("is what a map is", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, build) }) })
	t.Run("keeps nothing of the writer's", func(t *testing.T) { copies(t, build) })
	t.Run("shows an update whole", func(t *testing.T) { whole(t, build) })
	t.Run("loses no update", func(t *testing.T) { losesNone(t, build) })
	t.Run("reads without allocating", func(t *testing.T) { allocatesNothing(t, build) })
}

func empty(t *testing.T, build New) {
	s := build()
	if v, ok := s.Get(1); ok || v != 0 || s.Summary() != 0 {
		t.Errorf("before the first update: summary %d, entry %d %v", s.Summary(), v, ok)
	}
	s.Update(change{Summary: 7, Remove: []int{1}})
	if _, ok := s.Get(1); ok || s.Summary() != 7 {
		t.Errorf("after removing what is not there: summary %d, entry %v", s.Summary(), ok)
	}
}

func model(t *rapid.T, build New) {
	s, want := build(), map[int]int{}
	key := rapid.IntRange(0, 9)
	for step := range rapid.IntRange(1, 20).Draw(t, "updates") {
		c := change{Summary: step, Remove: rapid.SliceOfN(key, 0, 5).Draw(t, "remove"),
			Put: rapid.MapOfN(key, rapid.Int(), 0, 5).Draw(t, "put")}
		s.Update(c)
		for _, k := range c.Remove {
			delete(want, k)
		}
		maps.Copy(want, c.Put)
		if s.Summary() != step {
			t.Fatalf("summary %d, want %d", s.Summary(), step)
		}
		for k := range 10 {
			got, ok := s.Get(k)
			if expected, there := want[k]; ok != there || got != expected {
				t.Fatalf("entry %d is %d %v, want %d %v", k, got, ok, expected, there)
			}
		}
	}
}

// copies: what the writer does to its change afterwards is its own affair.
func copies(t *testing.T, build New) {
	s, put := build(), map[int]int{1: 1}
	s.Update(change{Put: put})
	put[1], put[2] = 5, 5
	if v, _ := s.Get(1); v != 1 {
		t.Errorf("entry 1 is %d, want 1", v)
	}
	if _, ok := s.Get(2); ok {
		t.Error("an entry came without an update")
	}
}

// whole: entries and summary all hold the number of the update, so a reader who has seen a number must never see
// a smaller one afterwards, wherever it looks.
func whole(t *testing.T, build New) {
	const updates, entries = 2_000, 4
	s := build()
	put := map[int]int{}
	s.Update(change{Put: map[int]int{0: 0, 1: 0, 2: 0, 3: 0}})
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for at, seen := r, 0; seen < updates; at++ {
				now := s.Summary()
				if place := at % (entries + 1); place < entries {
					v, ok := s.Get(place)
					if !ok {
						t.Errorf("entry %d is gone", place)
						return
					}
					now = v
				}
				if now < seen {
					t.Errorf("saw update %d after update %d", now, seen)
					return
				}
				seen = now
				if at%64 == 0 {
					runtime.Gosched() // on one core the writer is to get on
				}
			}
		})
	}
	for n := range updates {
		for e := range entries {
			put[e] = n + 1
		}
		s.Update(change{Summary: n + 1, Put: put})
		if n%16 == 0 {
			runtime.Gosched()
		}
	}
	readers.Wait()
}

// losesNone: writers that work at once all get their entries in.
func losesNone(t *testing.T, build New) {
	const writers, each = 4, 200
	s := build()
	var working sync.WaitGroup
	for w := range writers {
		working.Go(func() {
			for i := range each {
				s.Update(change{Put: map[int]int{w*each + i: w}})
			}
		})
	}
	working.Wait()
	for k := range writers * each {
		if v, ok := s.Get(k); !ok || v != k/each {
			t.Fatalf("entry %d is %d %v, want %d", k, v, ok, k/each)
		}
	}
}

func allocatesNothing(t *testing.T, build New) {
	s := build()
	s.Update(change{Summary: 1, Put: map[int]int{1: 1}})
	sum := 0
	if n := testing.AllocsPerRun(100, func() {
		v, _ := s.Get(1)
		sum += v + s.Summary()
	}); n != 0 {
		t.Errorf("a read allocates %v times", n)
	}
}

// Bench measures reads from as many goroutines as there are processors: of a state that nobody changes, and beside
// a writer that replaces one entry of 256 as fast as it can; and it measures updates by themselves.
func Bench(b *testing.B, build New) {
	const entries = 256 // the newest ledgers that a server keeps rendered are fewer
	filled := func() snapshot.Snapshot[int, int, int] {
		s, put := build(), map[int]int{}
		for k := range entries {
			put[k] = k
		}
		s.Update(change{Put: put})
		return s
	}
	read := func(b *testing.B, s snapshot.Snapshot[int, int, int]) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for k := 0; pb.Next(); k++ {
				if _, ok := s.Get(k % entries); !ok {
					b.Error("an entry is missing")
					return
				}
			}
		})
	}
	b.Run("read", func(b *testing.B) { read(b, filled()) })
	b.Run("read-beside-writer", func(b *testing.B) {
		s, stop := filled(), make(chan struct{})
		var writer sync.WaitGroup
		writer.Go(func() { replaceUntil(s, stop) })
		read(b, s)
		close(stop)
		writer.Wait()
	})
	b.Run("update", func(b *testing.B) {
		s, put := filled(), map[int]int{1: 1}
		b.ReportAllocs()
		for b.Loop() {
			s.Update(change{Put: put})
		}
	})
}

func replaceUntil(s snapshot.Snapshot[int, int, int], stop <-chan struct{}) {
	put := map[int]int{1: 1}
	for {
		select {
		case <-stop:
			return
		default:
			s.Update(change{Put: put})
			runtime.Gosched()
		}
	}
}

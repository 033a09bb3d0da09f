// Package queuetest is the conformance suite of queues, as tests and benchmarks, so that all
// implementations are judged alike. It is for tests only.
package queuetest

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"dyno/bench/claims/queues/queue"

	"pgregory.net/rapid"
)

// Value is the type of value in the suite.
type Value struct{ Hash, Seq uint64 }

// New creates the queue under test.
type New = queue.Constructor[Value]

// Test runs the suite. It finds out whether the queue has a buffer; ordered means that the queue
// keeps the order of values of one hash.
func Test(t *testing.T, build New, ordered bool) {
	t.Run("refuses what does not fit", func(t *testing.T) { refuses(t, build) })
	t.Run("returns what was put", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { gives(t, build, ordered) }) })
	t.Run("delivers exactly once", func(t *testing.T) { exactlyOnce(t, build) })
	t.Run("wakes a waiting worker", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { wakes(t, build) }) })
	t.Run("wakes one worker per value", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { wakesEach(t, build) }) })
	t.Run("ends after the last value", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { ends(t, build) }) })
	t.Run("starves no hash", func(t *testing.T) { starvesNone(t, build) })
	t.Run("does not allocate", func(t *testing.T) { allocatesNothing(t, build) })
}

// buffered reports whether the queue keeps values without a waiting worker.
func buffered(build New) bool { return build(queue.Config{Capacity: 1, Shards: 1}).Put(0, Value{}) }

func refuses(t *testing.T, build New) {
	for _, capacity := range []int{1, 3, 64, 100, 1000} {
		q := build(queue.Config{Capacity: capacity, Shards: 1})
		took := 0
		for i := range 2*capacity + 1 {
			if q.Put(7, Value{Seq: uint64(i)}) {
				took++
			}
		}
		want := capacity
		if !buffered(build) {
			want = 0
		}
		s := q.Stats()
		if took != want || q.Len() != want || s.Peak != want || s.Refused != uint64(2*capacity+1-want) {
			t.Fatalf("capacity %d: took %d, Len %d, %+v; want %d taken", capacity, took, q.Len(), s, want)
		}
		if want > 0 && q.Take(0, []Value{{}}) != 1 {
			t.Fatal("nothing to take from a full queue")
		}
		if want > 0 && !q.Put(7, Value{}) {
			t.Fatalf("capacity %d: no room after a value was taken", capacity)
		}
	}
}

// gives compares the queue with a model: for every hash, one worker takes the values that were put,
// in order if the queue keeps it; Len is correct, and the worker does not sleep while values wait.
func gives(t *rapid.T, build New, ordered bool) {
	q := build(queue.Config{Capacity: rapid.IntRange(1, 200).Draw(t, "capacity"), Shards: rapid.IntRange(1, 5).Draw(t, "shards")})
	model := map[uint64][]uint64{}
	waiting, seq := 0, uint64(0)
	put := func(t *rapid.T) {
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			v := Value{Hash: rapid.Uint64Range(0, 7).Draw(t, "hash"), Seq: seq}
			seq++
			if q.Put(v.Hash, v) {
				model[v.Hash] = append(model[v.Hash], v.Seq)
				waiting++
			}
		}
	}
	take := func(t *rapid.T) {
		if waiting == 0 {
			return // would block
		}
		buf := slices.Repeat([]Value{{}}, rapid.IntRange(1, 40).Draw(t, "buf"))
		n := q.Take(0, buf)
		if n < 1 || n > waiting {
			t.Fatalf("Take returned %d of %d", n, waiting)
		}
		for _, v := range buf[:n] {
			left := model[v.Hash]
			i := slices.Index(left, v.Seq)
			if i < 0 || ordered && i > 0 {
				t.Fatalf("took %+v; the next of its hash are %v", v, left)
			}
			model[v.Hash] = slices.Delete(left, i, i+1)
		}
		waiting -= n
	}
	t.Repeat(map[string]func(*rapid.T){"put": put, "take": take, "": func(t *rapid.T) {
		if q.Len() != waiting {
			t.Fatalf("Len is %d, not %d", q.Len(), waiting)
		}
		if n := q.Stats().Waits; n != 0 {
			t.Fatalf("%d waits, though there was always something to take", n)
		}
	}})
}

// exactlyOnce sends values from many producers to many workers; a refused value is tried again.
func exactlyOnce(t *testing.T, build New) {
	const producers, each = 8, 2000
	for _, workers := range []int{1, 3, 12} {
		q := build(queue.Config{Capacity: 100, Shards: 4, Workers: workers})
		var producing, working sync.WaitGroup
		for p := range uint64(producers) {
			producing.Go(func() {
				for i := range uint64(each) {
					for !q.Put(p, Value{Hash: p, Seq: i}) {
						runtime.Gosched()
					}
				}
			})
		}
		var mu sync.Mutex
		seen := map[Value]int{}
		for w := range workers {
			working.Go(func() {
				buf := slices.Repeat([]Value{{}}, 1+w*7)
				for n := q.Take(w, buf); n > 0; n = q.Take(w, buf) {
					mu.Lock()
					for _, v := range buf[:n] {
						seen[v]++
					}
					mu.Unlock()
				}
			})
		}
		producing.Wait()
		q.Close()
		working.Wait()
		if len(seen) != producers*each || q.Len() != 0 {
			t.Fatalf("%d workers: %d of %d values came, %d are left", workers, len(seen), producers*each, q.Len())
		}
		for v, n := range seen {
			if n != 1 {
				t.Fatalf("%d workers: %+v came %d times", workers, v, n)
			}
		}
	}
}

func wakes(t *testing.T, build New) {
	q := build(queue.Config{})
	got := uint64(0)
	var worker sync.WaitGroup
	worker.Go(func() {
		buf := slices.Repeat([]Value{{}}, 4)
		for n := q.Take(0, buf); n > 0; n = q.Take(0, buf) {
			got += buf[0].Seq
		}
	})
	for i := range uint64(3) {
		synctest.Wait() // the worker is waiting
		if got != i {
			t.Fatalf("%d values came, not %d", got, i)
		}
		if n := q.Stats().Waits; n != i+1 {
			t.Fatalf("%d waits are counted, not %d", n, i+1)
		}
		if !q.Put(i, Value{Seq: 1}) {
			t.Fatal("refused although a worker waits")
		}
	}
	q.Close()
	worker.Wait()
}

// wakesEach puts as many values as there are workers: each must wake its own worker, although the
// first worker could take them all.
func wakesEach(t *testing.T, build New) {
	const workers = 6
	q := build(queue.Config{Workers: workers})
	release := make(chan struct{})
	var mu sync.Mutex
	holding := 0
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for buf := []Value{{}}; q.Take(w, buf) > 0; {
				mu.Lock()
				holding++
				mu.Unlock()
				<-release
			}
		})
	}
	synctest.Wait()
	for i := range uint64(workers) {
		if !q.Put(i, Value{Hash: i}) {
			t.Fatal("refused although a worker waits")
		}
		if !buffered(build) {
			synctest.Wait()
		}
	}
	synctest.Wait()
	if holding != workers {
		t.Fatalf("%d workers have a value, not %d: the others sleep while values wait (%d)", holding, workers, q.Len())
	}
	close(release)
	q.Close()
	all.Wait()
}

// ends checks that after Close the waiting values can be taken, waiting workers are woken, and Put
// refuses.
func ends(t *testing.T, build New) {
	q := build(queue.Config{Workers: 2})
	put := 0
	for q.Put(uint64(put), Value{}) && put < 5 {
		put++
	}
	put = q.Len()
	q.Close()
	if q.Put(1, Value{}) {
		t.Fatal("took a value after Close")
	}
	var mu sync.Mutex
	got := 0
	var workers sync.WaitGroup
	for w := range 2 {
		workers.Go(func() {
			for buf := []Value{{}}; q.Take(w, buf) > 0; {
				mu.Lock()
				got++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if got != put {
		t.Fatalf("%d of %d values came after Close", got, put)
	}

	waiting := build(queue.Config{})
	var worker sync.WaitGroup
	worker.Go(func() { waiting.Take(0, []Value{{}}) })
	synctest.Wait()
	waiting.Close()
	worker.Wait() // a deadlock here fails the bubble
}

// starvesNone keeps one hash full while each other has one value: one worker must reach all of
// them.
func starvesNone(t *testing.T, build New) {
	if !buffered(build) {
		t.Skip("keeps nothing that could starve")
	}
	const shards, rounds = 8, 1000
	for _, workers := range []int{1, 3, 8} { // only the first of them takes
		q := build(queue.Config{Capacity: 8 * shards, Shards: shards, Workers: workers})
		for h := range uint64(shards) {
			q.Put(h, Value{Hash: h})
		}
		missing := shards
		seen := [shards]bool{}
		for buf := []Value{{}}; missing > 0; {
			q.Take(0, buf)
			if h := buf[0].Hash; !seen[h] {
				seen[h] = true
				missing--
			}
			for q.Put(0, Value{Seq: 1}) {
				if q.Stats().Peak > rounds {
					t.Fatal("takes without end")
				}
			}
			if q.Stats().Refused > rounds {
				t.Fatalf("%d workers: %d of %d hashes had no turn in %d: %v", workers, missing, shards, rounds, seen)
			}
		}
	}
}

func allocatesNothing(t *testing.T, build New) {
	q := build(queue.Config{Capacity: 256})
	buf := slices.Repeat([]Value{{}}, 64)
	n := testing.AllocsPerRun(100, func() {
		for i := range uint64(64) {
			q.Put(i, Value{})
		}
		for q.Len() > 0 {
			q.Take(0, buf)
		}
	})
	if n != 0 {
		t.Fatalf("64 values cost %v allocations", n)
	}
}

package slots

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestLikeAMap puts, gets and deletes at random. A map of the keys that were given out says what
// each call must return.
func TestLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Uint32Range(0, 12).Draw(t, "max")
		table, model := New[int](most), map[Key]*int{}
		keys := []Key{0, 1, 1 << 32, ^Key(0)} // all that were given out, and foreign ones
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := new(int)
				k, ok := table.Put(v)
				if want := len(model) < max(int(most), 1); ok != want {
					t.Fatalf("Put of value %d of %d says %v", len(model)+1, most, ok)
				}
				if !ok {
					return
				}
				if k == 0 || slices.Contains(keys[4:], k) {
					t.Fatalf("key %x is given out twice, or is 0", k)
				}
				keys, model[k] = append(keys, k), v
			},
			"delete": func(t *rapid.T) {
				k := rapid.SampledFrom(keys).Draw(t, "key")
				if got, want := table.Delete(k), model[k] != nil; got != want {
					t.Fatalf("Delete(%x) says %v", k, got)
				}
				delete(model, k)
			},
			"": func(t *rapid.T) {
				for _, k := range keys {
					if got := table.Get(k); got != model[k] {
						t.Fatalf("Get(%x) = %p, want %p", k, got, model[k])
					}
				}
				if all := maps.Collect(table.All()); table.Len() != len(model) || !maps.Equal(all, model) {
					t.Fatalf("Len %d, All %v, want %v", table.Len(), all, model)
				}
			},
		})
	})
}

// A table grows over its pages up to its bound, and the loop over it may empty it.
func TestGrows(t *testing.T) {
	const max = 2*pageSize + 3
	table := New[int](max)
	for n := range max {
		if k, ok := table.Put(&n); !ok || *table.Get(k) != n {
			t.Fatalf("value %d: %v", n, ok)
		}
	}
	if _, ok := table.Put(new(int)); ok || table.Len() != max {
		t.Fatalf("the table holds %d values of %d, and takes another: %v", table.Len(), max, ok)
	}
	for k := range table.All() {
		if !table.Delete(k) {
			t.Fatalf("Delete(%x) of a key that All yields", k)
		}
	}
	if table.Len() != 0 {
		t.Fatalf("%d values are left", table.Len())
	}
	for range table.All() {
		t.Fatal("an empty table has a value")
	}
	if _, ok := table.Put(nil); ok {
		t.Error("nil is a value")
	}
}

// A slot whose generations are used up is not used again, so that an old key stays void.
func TestGenerationsEnd(t *testing.T) {
	table := New[int](1)
	old, _ := table.Put(new(int))
	table.Delete(old)
	table.slot(0).generation.Store(lastGeneration - 2)
	k, ok := table.Put(new(int))
	if !ok || table.Get(k) == nil || !table.Delete(k) {
		t.Fatalf("the last generation, %x: %v", k, ok)
	}
	if k, ok := table.Put(new(int)); ok {
		t.Errorf("after the last generation comes %x", k)
	}
}

// Put(nil) on a table with one free slot must not use it up.
func TestNilTakesNoSlot(t *testing.T) {
	table := New[int](1)
	table.Put(nil)
	if _, ok := table.Put(new(int)); !ok {
		t.Error("a refused value has taken the slot")
	}
}

// Readers meet writers: a key leads to its own value or to nil, and to nil after its Delete.
func TestConcurrently(t *testing.T) {
	type value struct{ key atomic.Uint64 }
	table := New[value](64)
	var known [64]atomic.Uint64 // keys, of which readers know whether they are void
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	for w := range 4 {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range 20_000 {
				at := &known[w*16+random.IntN(16)]
				if old := Key(at.Load()); old != 0 {
					at.Store(0)
					if !table.Delete(old) || table.Get(old) != nil {
						t.Errorf("%x after Delete", old)
					}
				}
				v := new(value)
				k, ok := table.Put(v)
				if !ok {
					t.Error("full")
					return
				}
				v.key.Store(uint64(k))
				if table.Get(k) != v {
					t.Errorf("%x before Delete", k)
				}
				at.Store(uint64(k))
			}
		})
	}
	for r := range 4 {
		reading.Go(func() {
			for n := r; !done.Load(); n++ {
				k := Key(known[n%64].Load())
				if v := table.Get(k); v != nil && v.key.Load() != uint64(k) {
					t.Errorf("%x leads to the value of %x", k, v.key.Load())
				}
				if n%1000 == 0 {
					for range table.All() {
						runtime.Gosched()
					}
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	if n := table.Len(); n > 64 || n != len(maps.Collect(table.All())) {
		t.Errorf("%d values", n)
	}
}

func TestDoesNotAllocate(t *testing.T) {
	table, v := New[int](10), new(int)
	k, _ := table.Put(v)
	if n := testing.AllocsPerRun(100, func() { table.Get(k); table.Get(k + 1) }); n != 0 {
		t.Errorf("Get: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { k, _ := table.Put(v); table.Delete(k) }); n != 0 {
		t.Errorf("Put and Delete: %v allocations", n)
	}
}

// BenchmarkGet reads at random from 10,000 values, while one Put and Delete in a thousand reads
// happen as connections come and go.
func BenchmarkGet(b *testing.B) {
	for _, goroutines := range []int{1, 2, 8} {
		for _, v := range []struct {
			name string
			new  func() registry
		}{{"slots", newSlots}, {"rwmutex", newLocked}, {"syncmap", newSyncMap}} {
			b.Run(fmt.Sprintf("%s/%d", v.name, goroutines), func(b *testing.B) { readAtRandom(b, v.new(), goroutines) })
		}
	}
}

func readAtRandom(b *testing.B, r registry, goroutines int) {
	keys := make([]uint64, 10_000)
	for i := range keys {
		keys[i] = r.put(new(int))
	}
	b.ReportAllocs()
	b.ResetTimer()
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for n := range b.N / goroutines {
				if n%1000 == 0 {
					r.delete(r.put(new(int)))
				}
				r.get(keys[random.Uint32N(10_000)])
			}
		})
	}
	group.Wait()
}

type registry interface {
	put(*int) uint64
	get(uint64) *int
	delete(uint64)
}

type inSlots struct{ t *Table[int] }

func newSlots() registry            { return inSlots{New[int](20_000)} }
func (r inSlots) get(k uint64) *int { return r.t.Get(Key(k)) }
func (r inSlots) delete(k uint64)   { r.t.Delete(Key(k)) }
func (r inSlots) put(v *int) uint64 { k, _ := r.t.Put(v); return uint64(k) }

type locked struct {
	mu   sync.RWMutex
	m    map[uint64]*int
	last uint64
}

func newLocked() registry { return &locked{m: map[uint64]*int{}} }

func (r *locked) put(v *int) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.m[r.last] = v
	return r.last
}

func (r *locked) get(k uint64) *int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.m[k]
}

func (r *locked) delete(k uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, k)
}

type inSyncMap struct {
	m    sync.Map
	last atomic.Uint64
}

func newSyncMap() registry { return new(inSyncMap) }

func (r *inSyncMap) put(v *int) uint64 {
	k := r.last.Add(1)
	r.m.Store(k, v)
	return k
}

func (r *inSyncMap) get(k uint64) *int {
	v, _ := r.m.Load(k)
	return v.(*int)
}

func (r *inSyncMap) delete(k uint64) { r.m.Delete(k) }

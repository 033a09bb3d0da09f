// Package slots is a table of values by index and generation, as of a server's connections: a key
// leads to its value without a lock and without hashing, and to nothing once the value was deleted,
// even after another took its place.
//
//	table := slots.New[conn](10_000)
//	key, ok := table.Put(c) // false: the table is full
//	table.Get(key)          // c, until Delete(key)
//
// It is not for keys that come from elsewhere (a map has those), nor for values without a bound.
// The table keeps the pages it has grown to. It starts no goroutines; any may call its methods.
package slots

import (
	"iter"
	"sync"
	"sync/atomic"
)

// Key is a value's slot and its generation there. The zero Key is never given out.
type Key uint64

func key(generation, index uint32) Key          { return Key(generation)<<32 | Key(index) }
func (k Key) split() (generation, index uint32) { return uint32(k >> 32), uint32(k) }

// Table holds up to a number of values. New makes one.
type Table[T any] struct {
	pages []atomic.Pointer[page[T]]
	used  atomic.Int64

	mu    sync.Mutex // guards the fields below, and is held to change a slot
	max   uint32
	begun uint32   // slots that were ever used
	free  []uint32 // of those, which are not in use
}

// pageSize is the number of slots by which a table grows: 16 KiB.
const pageSize = 1 << 10

type page[T any] [pageSize]slot[T]

// slot has an odd generation while it is in use. A value is stored before its generation begins,
// and removed after it has ended: a reader that finds the generation of its key after it has loaded
// the value has loaded the value of that key.
type slot[T any] struct {
	generation atomic.Uint32
	value      atomic.Pointer[T]
}

// lastGeneration is that of a slot which is never used again, so that no key comes twice.
const lastGeneration = 1<<32 - 2

// New returns a table of up to max values; 0 means one.
func New[T any](max uint32) *Table[T] {
	if max == 0 {
		max = 1
	}
	return &Table[T]{pages: make([]atomic.Pointer[page[T]], (uint64(max)+pageSize-1)/pageSize), max: max}
}

// Put stores a value, which must not be nil, under a new key; false: the table is full.
func (t *Table[T]) Put(v *T) (Key, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v == nil {
		return 0, false
	}
	index, ok := t.vacant()
	if !ok {
		return 0, false
	}
	s := t.slot(index)
	s.value.Store(v)
	t.used.Add(1)
	return key(s.generation.Add(1), index), true
}

// vacant takes a slot that is not in use. The one freed last is the likeliest to be in a cache.
func (t *Table[T]) vacant() (index uint32, ok bool) {
	if n := len(t.free); n > 0 {
		index, t.free = t.free[n-1], t.free[:n-1]
		return index, true
	}
	if t.begun == t.max {
		return 0, false
	}
	if t.begun%pageSize == 0 {
		t.pages[t.begun/pageSize].Store(new(page[T]))
	}
	t.begun++
	return t.begun - 1, true
}

// slot returns a slot; nil: the table has not grown to it.
func (t *Table[T]) slot(index uint32) *slot[T] {
	if n := index / pageSize; n < uint32(len(t.pages)) {
		if p := t.pages[n].Load(); p != nil {
			return &p[index%pageSize]
		}
	}
	return nil
}

// Get returns the value of a key, or nil if it was deleted. It takes no lock.
func (t *Table[T]) Get(k Key) *T {
	generation, index := k.split()
	s := t.slot(index)
	if s == nil {
		return nil
	}
	v := s.value.Load()
	if s.generation.Load() != generation {
		return nil
	}
	return v
}

// Delete ends a key, and reports whether it had a value.
func (t *Table[T]) Delete(k Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	generation, index := k.split()
	s := t.slot(index)
	if s == nil || generation%2 == 0 || s.generation.Load() != generation {
		return false
	}
	s.generation.Add(1)
	s.value.Store(nil)
	t.used.Add(-1)
	if generation+1 < lastGeneration {
		t.free = append(t.free, index)
	}
	return true
}

// Len is the number of values.
func (t *Table[T]) Len() int { return int(t.used.Load()) }

// All yields each value that is there from the beginning to the end of the iteration, in no order
// to rely on, and perhaps those that come or go meanwhile. It takes no lock, so that the loop may
// change the table.
func (t *Table[T]) All() iter.Seq2[Key, *T] {
	return func(yield func(Key, *T) bool) {
		for n := range t.pages {
			p := t.pages[n].Load()
			if p == nil {
				return
			}
			for i := range p {
				k := key(p[i].generation.Load(), uint32(n*pageSize+i))
				if generation, _ := k.split(); generation%2 == 0 {
					continue
				}
				if v := t.Get(k); v != nil && !yield(k, v) {
					return
				}
			}
		}
	}
}

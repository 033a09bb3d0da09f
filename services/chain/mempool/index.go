package mempool

import (
	"container/heap"
	"sync"

	"github.com/holiman/uint256"
)

// verdict is what becomes of an entry that a walk visits.
type verdict int

const (
	stop verdict = iota // it stays offered, and the walk ends
	keep                // it stays offered, and is not visited again by this walk
	take                // it is no longer offered
)

// index finds entries by their hashes, and the best-paying of those that can be sealed next. It has
// no rules: which transaction may wait, and which can be sealed, is the pool's. All entries are in
// a sharded map, and those that are offered in a heap, which stays in the order of the last walk's
// base fee. A walk at another one orders them again. Its methods may be called concurrently, those
// for one entry not.
type index struct {
	hashes
	mu    sync.Mutex
	order fees
	base  uint256.Int
}

func newIndex() *index { return &index{hashes: newHashes()} }

// offer adds an entry for walk. It must be new there.
func (x *index) offer(e *Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.rate(&x.base)
	x.order.push(e)
}

// retract removes an entry that was offered and not taken.
func (x *index) retract(e *Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.order.remove(e)
}

// offered is the number of entries that are offered.
func (x *index) offered() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.order.Len()
}

// walk visits the offered entries that pay the base fee, those with the highest effective tips
// first, and of equal ones the oldest. Visit decides what becomes of the entry, and may return
// another one to be offered, which the same walk visits in its turn. Visit must not call the index.
func (x *index) walk(base *uint256.Int, visit func(*Entry) (verdict, *Entry)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !base.Eq(&x.base) {
		x.base = *base
		x.order.rate(base)
	}
	x.order.walk(base, visit)
}

// walk visits entries, which are rated by base. Those that are kept leave the order meanwhile, so
// that what is next is always first.
func (f *fees) walk(base *uint256.Int, visit func(*Entry) (verdict, *Entry)) {
	var kept []*Entry
	for e := f.first(); e != nil && !e.unpaid; e = f.first() {
		v, next := visit(e)
		if v == stop {
			break
		}
		f.pop()
		if v == keep {
			kept = append(kept, e)
		}
		if next != nil {
			next.rate(base)
			f.push(next)
		}
	}
	for _, e := range kept {
		f.push(e)
	}
}

// fees are entries that are rated by one base fee, in a heap. Each knows its place there.
type fees []*Entry

// first is the entry that a walk visits first, or nil.
func (f *fees) first() *Entry {
	if len(*f) == 0 {
		return nil
	}
	return (*f)[0]
}

func (f *fees) pop()            { heap.Pop(f) }
func (f *fees) push(e *Entry)   { heap.Push(f, e) }
func (f *fees) remove(e *Entry) { heap.Remove(f, e.place) }

// rate rates all by a base fee, and orders them.
func (f *fees) rate(base *uint256.Int) {
	for i, e := range *f {
		e.rate(base)
		e.place = i
	}
	heap.Init(f)
}

// Len implements heap.Interface.
func (f fees) Len() int { return len(f) }

// Less implements heap.Interface.
func (f fees) Less(i, j int) bool { return f[i].before(f[j]) }

// Swap implements heap.Interface.
func (f fees) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].place, f[j].place = i, j
}

// Push implements heap.Interface.
func (f *fees) Push(x any) {
	e := x.(*Entry)
	e.place = len(*f)
	*f = append(*f, e)
}

// Pop implements heap.Interface.
func (f *fees) Pop() any {
	last := len(*f) - 1
	e := (*f)[last]
	(*f)[last] = nil
	*f = (*f)[:last]
	return e
}

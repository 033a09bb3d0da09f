package index

import (
	"container/heap"
	"sync"

	"github.com/holiman/uint256"
)

// Index holds entries: all in a sharded map, and those that are offered in a heap, which stays in
// the order of the last walk's base fee. A walk at another one orders them again. Its methods may
// be called concurrently, those for one entry not.
type Index struct {
	hashes
	mu    sync.Mutex
	order fees
	base  uint256.Int
}

// New returns an empty index.
func New() *Index { return &Index{hashes: newHashes()} }

// Offer adds an entry for Walk. It must be new there.
func (o *Index) Offer(e *Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.rate(&o.base)
	o.order.push(e)
}

// Retract removes an entry that was offered and not taken.
func (o *Index) Retract(e *Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order.remove(e)
}

// Offered is the number of entries that are offered.
func (o *Index) Offered() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.order.Len()
}

// Walk visits the offered entries that pay the base fee, those with the highest effective tips
// first, and of equal ones the oldest. Visit decides what becomes of the entry, and may return
// another one to be offered, which the same walk visits in its turn. Visit must not call the index.
func (o *Index) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !base.Eq(&o.base) {
		o.base = *base
		o.order.rate(base)
	}
	walk(&o.order, base, visit)
}

// walk visits entries, which are rated by base. Those that are kept leave the order meanwhile, so
// that what is next is always first.
func walk(o *fees, base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	var kept []*Entry
	for e := o.first(); e != nil && !e.unpaid; e = o.first() {
		verdict, next := visit(e)
		if verdict == Stop {
			break
		}
		o.pop()
		if verdict == Keep {
			kept = append(kept, e)
		}
		if next != nil {
			next.rate(base)
			o.push(next)
		}
	}
	for _, e := range kept {
		o.push(e)
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

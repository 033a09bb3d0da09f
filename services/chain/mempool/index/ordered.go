package index

import (
	"container/heap"
	"sync"

	"github.com/holiman/uint256"
)

// ordered is an index whose offered entries stay in the order of the last walk's base fee. A walk
// at another one orders them again.
type ordered struct {
	hashes
	mu    sync.Mutex
	order order
	base  uint256.Int
}

// order is entries that are rated by one base fee, in the order of a walk.
type order interface {
	Len() int
	first() *Entry // nil: there is none
	pop()          // removes the first
	push(*Entry)
	remove(*Entry)
	rate(base *uint256.Int) // rates all, and orders them
}

func newOrdered(o order) *ordered { return &ordered{hashes: newHashes(shards), order: o} }

// Offer implements Index.
func (o *ordered) Offer(e *Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.rate(&o.base)
	o.order.push(e)
}

// Retract implements Index.
func (o *ordered) Retract(e *Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order.remove(e)
}

// Offered implements Index.
func (o *ordered) Offered() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.order.Len()
}

// Walk implements Index.
func (o *ordered) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !base.Eq(&o.base) {
		o.base = *base
		o.order.rate(base)
	}
	walk(o.order, base, visit)
}

// walk visits entries, which are rated by base. Those that are kept leave the order meanwhile, so
// that what is next is always first.
func walk(o order, base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
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

// fees is an order in a heap. Each entry knows its place there.
type fees []*Entry

func (f *fees) first() *Entry {
	if len(*f) == 0 {
		return nil
	}
	return (*f)[0]
}

func (f *fees) pop()            { heap.Pop(f) }
func (f *fees) push(e *Entry)   { heap.Push(f, e) }
func (f *fees) remove(e *Entry) { heap.Remove(f, e.place) }

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

package index

import (
	"container/heap"

	"github.com/holiman/uint256"
)

// fees is an order in a heap. Each entry knows its place there.
type fees []*Entry

func (f *fees) first() *Entry {
	if len(*f) == 0 {
		return nil
	}
	return (*f)[0]
}

func (f *fees) pop()          { heap.Pop(f) }
func (f *fees) push(e *Entry) { heap.Push(f, e) }

// rate rates all entries by a base fee, and orders them.
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

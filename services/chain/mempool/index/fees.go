package index

import (
	"container/heap"

	"github.com/holiman/uint256"
)

// fees is a heap of offered entries, the one that a walk visits first on top. All are rated by the
// same base fee.
type fees []*Entry

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

// rate rates all entries by a base fee, and orders them.
func (f *fees) rate(base *uint256.Int) {
	for i, e := range *f {
		e.rate(base)
		e.place = i
	}
	heap.Init(f)
}

// walk visits the entries, which are rated by base.
func (f *fees) walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	var kept []*Entry
	defer func() {
		for _, e := range kept {
			heap.Push(f, e)
		}
	}()
	for len(*f) > 0 && !(*f)[0].unpaid {
		verdict, next := visit((*f)[0])
		switch {
		case next != nil && verdict == Taken:
			next.rate(base)
			next.place = 0
			(*f)[0] = next
			heap.Fix(f, 0)
			continue
		case verdict == Stop:
			return
		}
		if e := heap.Pop(f).(*Entry); verdict == Keep {
			kept = append(kept, e)
		}
	}
}

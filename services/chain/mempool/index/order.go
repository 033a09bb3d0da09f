package index

import "github.com/holiman/uint256"

// order is offered entries that are rated by one base fee, in the order of a walk.
type order interface {
	first() *Entry // nil: there is none
	pop()          // removes the first
	push(*Entry)
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

// walkAll orders entries for one walk, and calls gone and come for those that are no longer offered
// and those that are instead.
func walkAll(offered []*Entry, base *uint256.Int, visit func(*Entry) (Verdict, *Entry), gone, come func(*Entry)) {
	f := fees(offered)
	f.rate(base)
	walk(&f, base, func(e *Entry) (Verdict, *Entry) {
		verdict, next := visit(e)
		if verdict == Taken {
			gone(e)
		}
		if next != nil {
			come(next)
		}
		return verdict, next
	})
}

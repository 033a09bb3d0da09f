package index

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/holiman/uint256"
)

// levels is enough for 4^levels/2 entries: more than a pool has.
const levels = 10

// node is an entry in a skip list, and what follows it at each of its levels.
type node struct {
	entry *Entry
	next  []*node
}

// list is an order in a skip list (Pugh 1990). Each level has a quarter of the nodes of the one
// below.
type list struct {
	head   [levels]*node
	length int
}

// Len implements order.
func (l *list) Len() int { return l.length }

func (l *list) first() *Entry {
	if l.head[0] == nil {
		return nil
	}
	return l.head[0].entry
}

func (l *list) pop() {
	copy(l.head[:], l.head[0].next) // it is the first at all its levels
	l.length--
}

// path finds, at each level, the link that passes the place of an entry.
func (l *list) path(e *Entry) (links [levels]**node) {
	next := l.head[:]
	for level := levels - 1; level >= 0; level-- {
		for next[level] != nil && next[level].entry.before(e) {
			next = next[level].next
		}
		links[level] = &next[level]
	}
	return links
}

func (l *list) push(e *Entry) {
	height := 1 + min(bits.TrailingZeros64(rand.Uint64())/2, levels-1)
	n := &node{entry: e, next: make([]*node, height)}
	links := l.path(e)
	for level := range n.next {
		n.next[level], *links[level] = *links[level], n
	}
	l.length++
}

func (l *list) remove(e *Entry) {
	links := l.path(e)
	for level, next := range (*links[0]).next {
		*links[level] = next
	}
	l.length--
}

// rate links the nodes anew only if their order has changed.
func (l *list) rate(base *uint256.Int) {
	ordered := true
	all := make([]*Entry, 0, l.length)
	for n := l.head[0]; n != nil; n = n.next[0] {
		n.entry.rate(base)
		ordered = ordered && (len(all) == 0 || all[len(all)-1].before(n.entry))
		all = append(all, n.entry)
	}
	if ordered {
		return
	}
	slices.SortFunc(all, func(a, b *Entry) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return 0
	})
	*l = list{}
	for _, e := range slices.Backward(all) { // each goes to the front
		l.push(e)
	}
}

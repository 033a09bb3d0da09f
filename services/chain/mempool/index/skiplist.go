package index

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/holiman/uint256"
)

// SkipList is a sharded map of all entries, and a skip list of those that are offered (Pugh 1990),
// which stays in the order of the last walk's base fee. A walk at another one rates all again, and
// links them anew only if their order has changed.
type SkipList struct {
	hashes
	mu   sync.Mutex
	list list
	base uint256.Int
}

// NewSkipList returns an empty SkipList.
func NewSkipList() *SkipList {
	s := &SkipList{}
	s.hashes.init()
	return s
}

// Offer implements Index.
func (s *SkipList) Offer(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.rate(&s.base)
	s.list.push(e)
}

// Retract implements Index.
func (s *SkipList) Retract(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.remove(e)
}

// Offered implements Index.
func (s *SkipList) Offered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list.length
}

// Walk implements Index.
func (s *SkipList) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !base.Eq(&s.base) {
		s.base = *base
		s.list.rate(base)
	}
	walk(&s.list, base, visit)
}

// levels is enough for 4^levels/2 entries: more than a pool has.
const levels = 10

// node is an entry in a skip list, and what follows it at each of its levels.
type node struct {
	entry *Entry
	next  []*node
}

// list is an order in a skip list. Each level has a quarter of the nodes of the one below.
type list struct {
	head   [levels]*node
	length int
}

func (l *list) first() *Entry {
	if l.head[0] == nil {
		return nil
	}
	return l.head[0].entry
}

func (l *list) pop() {
	for level, next := range l.head[0].next {
		l.head[level] = next // it is the first at all its levels
	}
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

// rate rates all entries by a base fee, and puts them in order.
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

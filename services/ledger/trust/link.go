package trust

import (
	"fmt"
	"maps"
	"slices"

	"dyno/parts/xrpl"
)

// node is a ledger of the file as far as it matters to its neighbours.
type node struct {
	hash, parent xrpl.Hash
	lines        []int // those that hold it
	sound        bool  // it holds up by itself
}

// chain is the ledgers of a file by their index. There is more than one for an index where lines differ. Since lines come in
// any order it has to keep them all, at some 200 bytes each: 2 GB for ten million ledgers.
type chain map[uint32][]*node

func (c chain) add(line int, h *xrpl.Header, sound bool) {
	hash := h.Hash()
	for _, n := range c[h.Index] {
		if n.hash == hash {
			n.lines = append(n.lines, line)
			n.sound = n.sound || sound
			return
		}
	}
	c[h.Index] = append(c[h.Index], &node{hash, h.Parent, []int{line}, sound})
}

// link counts the ledgers whose parent is in the file, and finds those that contradict one another, from the highest
// down: a ledger proves what its parent is, never the other way round. A ledger that failed by itself is held against
// no other.
func (c chain) link(f *failures) (links int) {
	for _, index := range slices.Backward(slices.Sorted(maps.Keys(c))) {
		c.settle(index, f)
		parents := sound(c[index-1])
		for _, child := range c[index] {
			if slices.ContainsFunc(c[index-1], func(p *node) bool { return p.hash == child.parent }) {
				links++
			} else if child.sound && len(parents) > 0 {
				c.blame(index, child, parents, f)
			}
		}
	}
	return links
}

// settle decides between different ledgers of the same index: right is what a sound one above is built on.
func (c chain) settle(index uint32, f *failures) {
	rivals := sound(c[index])
	if len(rivals) < 2 {
		return
	}
	named := func(n *node) bool {
		return slices.ContainsFunc(c[index+1], func(child *node) bool { return child.sound && child.parent == n.hash })
	}
	if right := slices.IndexFunc(rivals, named); right >= 0 {
		for _, n := range rivals {
			if !named(n) {
				c.fail(index, n, f, fmt.Sprintf("ledger %d is %v in line %d, and the one above is built on that; here it is %v",
					index, rivals[right].hash, rivals[right].lines[0], n.hash))
			}
		}
		return
	}
	for i, n := range rivals {
		other := rivals[(i+1)%len(rivals)]
		c.fail(index, n, f, fmt.Sprintf("ledger %d is %v here and %v in line %d, and nothing in the file says which one is right",
			index, n.hash, other.hash, other.lines[0]))
	}
}

// blame says which of a child and its would-be parents is wrong. An altered ledger has another hash than the one above
// it names, and still names the one below. So the parent is wrong when the child has something above it that names it,
// or when the parent does not fit the one below either. Where neither can be told, both fail.
func (c chain) blame(index uint32, child *node, parents []*node, f *failures) {
	above := slices.ContainsFunc(sound(c[index+1]), func(n *node) bool { return n.parent == child.hash })
	if !above && !c.misfits(index-1, parents) {
		c.fail(index, child, f, fmt.Sprintf("its parent is %v, but ledger %d in line %d is %v",
			child.parent, index-1, parents[0].lines[0], parents[0].hash))
	}
	for _, p := range parents {
		c.fail(index-1, p, f, fmt.Sprintf("it is %v, but ledger %d in line %d says that its parent is %v",
			p.hash, index, child.lines[0], child.parent))
	}
}

// misfits says whether none of these ledgers names one that is below it in the file, though there is one.
func (c chain) misfits(index uint32, nodes []*node) bool {
	below := sound(c[index-1])
	return len(below) > 0 && !slices.ContainsFunc(nodes, func(n *node) bool {
		return slices.ContainsFunc(below, func(b *node) bool { return b.hash == n.parent })
	})
}

func (c chain) fail(index uint32, n *node, f *failures, reason string) {
	n.sound = false
	for _, line := range n.lines {
		f.add(line, index, reason)
	}
}

func sound(nodes []*node) (s []*node) {
	for _, n := range nodes {
		if n.sound {
			s = append(s, n)
		}
	}
	return s
}

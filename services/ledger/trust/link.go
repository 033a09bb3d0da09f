package trust

import (
	"fmt"
	"maps"
	"slices"

	"dyno/services/ledger/xrpl"
)

type node struct {
	hash, parent xrpl.Hash
	lines        []int // lines that contain it
	sound        bool  // it is consistent in itself
}

// chain is the ledgers of a file by index. An index has several if lines differ. Lines come in any
// order, so all must be kept, at about 200 bytes each: 2 GB for ten million ledgers.
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

// link counts the ledgers whose parent is in the file, and finds those that contradict each other,
// from the highest down: a ledger proves its parent, never the other way round. A ledger that
// failed in itself proves nothing about others.
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

// settle decides between ledgers of one index: the right one is the parent of a sound one above.
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
				c.fail(index, n, f, fmt.Sprintf("ledger %d is %v in line %d, and the one above names that as its parent; here it is %v",
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

// blame decides which of a child and its would-be parents is wrong. An altered ledger has another
// hash than the one that the ledger above names, and still names the one below. So the parent is
// wrong if a ledger above names the child, or if the parent does not fit the ledger below either.
// If neither is known, both fail.
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

// misfits says whether none of these ledgers names a ledger of the file as its parent, although the
// file has one below.
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

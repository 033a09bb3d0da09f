package xrpl_test

import (
	"fmt"

	"dyno/services/ledger/xrpl"
)

// nodeTree proves ledgers as xrpl.Verifier does, with the same results, in the straightforward way:
// a node is an object with 16 children, and leaves are inserted one by one.
type nodeTree struct{}

// node is an inner node, or a leaf when it has no children.
type node struct {
	children *[16]*node
	id, leaf xrpl.Hash
}

// Ledger proves that a response is one ledger (level L1), as xrpl.Verifier.Ledger.
func (nodeTree) Ledger(l *xrpl.Ledger) (xrpl.Header, error) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil {
		return h, err
	}
	if h.Index == 0 || l.Index != 0 && h.Index != l.Index {
		return h, fmt.Errorf("%w: the header is of ledger %d, the answer says %d", xrpl.ErrIndex, h.Index, l.Index)
	}
	if is := h.Hash(); !l.Hash.IsZero() && is != l.Hash {
		return h, fmt.Errorf("%w: the header of ledger %d hashes to %v, the answer says %v", xrpl.ErrHash, h.Index, is, l.Hash)
	}
	if n := len(l.Transactions); n > xrpl.MaxTransactions {
		return h, fmt.Errorf("%w: ledger %d has %d transactions, more than the accepted %d", xrpl.ErrMalformed, h.Index, n, xrpl.MaxTransactions)
	}
	root := &node{children: new([16]*node)}
	for _, tx := range l.Transactions {
		if len(tx.Blob) == 0 || max(len(tx.Blob), len(tx.Meta)) > xrpl.MaxVL {
			return h, fmt.Errorf("%w: a transaction of ledger %d has %d bytes and %d of metadata, not 1 to %d", xrpl.ErrMalformed, h.Index, len(tx.Blob), len(tx.Meta), xrpl.MaxVL)
		}
		if !root.insert(newLeaf(tx), 0) {
			return h, fmt.Errorf("%w: a transaction of ledger %d is there twice", xrpl.ErrRoot, h.Index)
		}
	}
	var is xrpl.Hash // of no transactions
	if len(l.Transactions) > 0 {
		is = root.hash()
	}
	if is != h.Transactions {
		return h, fmt.Errorf("%w: the %d transactions of ledger %d hash to %v, its header says %v",
			xrpl.ErrRoot, len(l.Transactions), h.Index, is, h.Transactions)
	}
	return h, nil
}

func newLeaf(tx xrpl.Transaction) *node {
	id := xrpl.TransactionID(tx.Blob)
	b := []byte("SND\x00")
	b = append(xrpl.AppendVL(b, len(tx.Blob)), tx.Blob...)
	b = append(xrpl.AppendVL(b, len(tx.Meta)), tx.Meta...)
	b = append(b, id[:]...)
	return &node{id: id, leaf: xrpl.SHA512Half(b)}
}

// insert puts a leaf below an inner node at a depth. It returns false if the leaf is there already.
func (n *node) insert(leaf *node, depth int) bool {
	branch := leaf.id[depth/2] >> (4 * (1 - depth%2)) & 15
	child := n.children[branch]
	switch {
	case child == nil:
		n.children[branch] = leaf
		return true
	case child.children != nil:
		return child.insert(leaf, depth+1)
	case child.id == leaf.id:
		return false
	}
	inner := &node{children: new([16]*node)}
	n.children[branch] = inner
	return inner.insert(child, depth+1) && inner.insert(leaf, depth+1)
}

func (n *node) hash() xrpl.Hash {
	if n.children == nil {
		return n.leaf
	}
	b := []byte("MIN\x00")
	for _, child := range n.children {
		var h xrpl.Hash
		if child != nil {
			h = child.hash()
		}
		b = append(b, h[:]...)
	}
	return xrpl.SHA512Half(b)
}

package main

import (
	"bytes"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
)

type hash [32]byte

func (h hash) String() string { return text(h[:]) }

// ledger is one with its transactions, in the ledger's own binary form.
type ledger struct {
	header       []byte
	transactions []transaction
}

type transaction struct{ blob, meta []byte }

// headerSize is what is hashed of a header: sequence (4 bytes), drops (8), hash of the parent, of
// the transactions and of the state (32 each), the parent's close time and its own (4 each),
// resolution and flags.
const headerSize = 118

// link is what a proved ledger says of itself and of the one below it.
type link struct {
	index        uint32
	hash, parent hash
}

// verify proves that a ledger is whole and is what its hash says.
func verify(l ledger) (link, error) {
	if len(l.header) != headerSize {
		return link{}, fmt.Errorf("the header has %d bytes, not %d", len(l.header), headerSize)
	}
	var leaves []leaf
	seen := map[hash]bool{}
	for _, t := range l.transactions {
		id := sum("TXN\x00", t.blob)
		if seen[id] {
			return link{}, fmt.Errorf("transaction %s comes twice", id)
		}
		seen[id] = true
		leaves = append(leaves, leaf{id, sum("SND\x00", vl(len(t.blob)), t.blob, vl(len(t.meta)), t.meta, id[:])})
	}
	if root := treeHash(leaves, 0); !bytes.Equal(root[:], l.header[44:76]) {
		return link{}, errors.New("the transactions are not those of the header")
	}
	return link{binary.BigEndian.Uint32(l.header), sum("LWR\x00", l.header), hash(l.header[12:44])}, nil
}

// sum is the first half of SHA-512 over a prefix, which says what is hashed, and what follows.
func sum(prefix string, parts ...[]byte) hash {
	h := sha512.New()
	h.Write([]byte(prefix))
	for _, p := range parts {
		h.Write(p)
	}
	return hash(h.Sum(nil)[:32])
}

// leaf is a transaction in the tree: its id says where, its hash what.
type leaf struct{ id, hash hash }

// treeHash is the hash of the node of the transaction tree (a SHAMap) at a depth, in nibbles, below
// which the leaves hang. A single leaf hangs as high as it can, but below the root.
func treeHash(leaves []leaf, depth int) hash {
	switch {
	case len(leaves) == 0:
		return hash{}
	case len(leaves) == 1 && depth > 0:
		return leaves[0].hash
	}
	var branches [16][]leaf
	for _, l := range leaves {
		nibble := l.id[depth/2] >> 4
		if depth%2 == 1 {
			nibble = l.id[depth/2] & 15
		}
		branches[nibble] = append(branches[nibble], l)
	}
	var node []byte
	for _, b := range branches {
		h := treeHash(b, depth+1)
		node = append(node, h[:]...)
	}
	return sum("MIN\x00", node)
}

// vl writes a length as the ledger's binary form does.
func vl(n int) []byte {
	switch {
	case n <= 192:
		return []byte{byte(n)}
	case n <= 12480:
		n -= 193
		return []byte{byte(193 + n>>8), byte(n)}
	}
	n -= 12481
	return []byte{byte(241 + n>>16), byte(n >> 8), byte(n)}
}

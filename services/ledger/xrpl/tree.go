package xrpl

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"hash"
	"slices"
)

// Prefixes of hashed bytes, so that bytes of one kind cannot pass for another.
const (
	prefixHeader      = "LWR\x00"
	prefixTransaction = "TXN\x00"
	prefixLeaf        = "SND\x00"
	prefixInner       = "MIN\x00"
)

// TransactionID returns the ID of a signed transaction.
func TransactionID(blob []byte) Hash {
	h := sha512.New()
	h.Write([]byte(prefixTransaction))
	h.Write(blob)
	var sum [sha512.Size]byte
	return Hash(h.Sum(sum[:0])[:32])
}

const (
	fanout = 16
	// levels is the maximum depth of a tree: IDs of 64 nibbles differ in the last one or earlier.
	levels = 64
)

// MaxTransactions limits a ledger that is proved or stored. Real ones have up to some thousand.
const MaxTransactions = 20_000

// leaf is a transaction's ID, and its node's hash.
type leaf struct{ id, node Hash }

// Verifier proves ledgers. It reuses its memory, so that it does not allocate once it has seen the
// largest ledger. It is not safe for concurrent use.
type Verifier struct {
	hash   hash.Hash
	sum    [sha512.Size]byte
	short  []byte // for writing prefixes and lengths to hash
	leaves []leaf
	inner  [levels][len(prefixInner) + fanout*len(Hash{})]byte // the node being filled, by depth
}

// NewVerifier returns a Verifier.
func NewVerifier() *Verifier {
	v := &Verifier{hash: sha512.New(), short: make([]byte, 0, 8)}
	for i := range v.inner {
		copy(v.inner[i][:], prefixInner)
	}
	return v
}

// Ledger proves that a response is one ledger (level L1): its header has the hash and index given
// in the response, if given, and its transactions and their metadata are those that the header
// commits to. It does not prove that the network agreed on this ledger: its hash must be linked to
// a trusted one. The error wraps ErrMalformed, ErrIndex, ErrHash or ErrRoot; with the last three,
// too, the header is the one that was read.
func (v *Verifier) Ledger(l *Ledger) (Header, error) {
	h, err := ParseHeader(l.Header)
	if err != nil {
		return Header{}, err
	}
	if h.Index == 0 || l.Index != 0 && l.Index != h.Index {
		return h, fmt.Errorf("%w: the header is of ledger %d, the answer says %d", ErrIndex, h.Index, l.Index)
	}
	if !l.Hash.IsZero() {
		if is := v.headerHash(l.Header); is != l.Hash {
			return h, fmt.Errorf("%w: the header of ledger %d hashes to %v, the answer says %v", ErrHash, h.Index, is, l.Hash)
		}
	}
	root, err := v.Root(l.Transactions)
	if err != nil {
		return h, fmt.Errorf("ledger %d: %w", h.Index, err)
	}
	if root != h.Transactions {
		return h, fmt.Errorf("%w: the %d transactions of ledger %d hash to %v, its header says %v",
			ErrRoot, len(l.Transactions), h.Index, root, h.Transactions)
	}
	return h, nil
}

// Root returns the root of the tree of transactions in any order, zero for none, and sets IDs.
func (v *Verifier) Root(txs []Transaction) (Hash, error) {
	if len(txs) == 0 {
		return Hash{}, nil
	}
	if len(txs) > MaxTransactions {
		return Hash{}, fmt.Errorf("%w: %d transactions are more than the %d that are taken", ErrMalformed, len(txs), MaxTransactions)
	}
	v.leaves = v.leaves[:0]
	for i := range txs {
		l, err := v.leaf(&txs[i])
		if err != nil {
			return Hash{}, fmt.Errorf("transaction %d of %d: %w", i+1, len(txs), err)
		}
		txs[i].ID = l.id
		v.leaves = append(v.leaves, l)
	}
	slices.SortFunc(v.leaves, func(a, b leaf) int { return bytes.Compare(a.id[:], b.id[:]) })
	for i := 1; i < len(v.leaves); i++ {
		if v.leaves[i].id == v.leaves[i-1].id {
			return Hash{}, fmt.Errorf("%w: transaction %v is there twice", ErrRoot, v.leaves[i].id)
		}
	}
	return v.node(0, v.leaves), nil
}

func (v *Verifier) leaf(tx *Transaction) (leaf, error) {
	if len(tx.Blob) == 0 || len(tx.Blob) > MaxVL {
		return leaf{}, fmt.Errorf("%w: its blob has %d bytes, not 1 to %d", ErrMalformed, len(tx.Blob), MaxVL)
	}
	if len(tx.Meta) > MaxVL {
		return leaf{}, fmt.Errorf("%w: its metadata has %d bytes, not 0 to %d", ErrMalformed, len(tx.Meta), MaxVL)
	}
	v.begin(prefixTransaction)
	v.hash.Write(tx.Blob)
	id := v.end()
	v.begin(prefixLeaf)
	v.prefixed(tx.Blob)
	v.prefixed(tx.Meta)
	v.short = append(v.short[:0], id[:]...)
	v.hash.Write(v.short)
	return leaf{id, v.end()}, nil
}

// node returns the hash of the node at a depth for sorted leaves that share their first depth
// nibbles. A leaf is at the highest level at which it is alone; the root is an inner node.
func (v *Verifier) node(depth int, leaves []leaf) Hash {
	if len(leaves) == 1 && depth > 0 {
		return leaves[0].node
	}
	children := v.inner[depth][len(prefixInner):]
	for branch := range fanout {
		n := 0
		for n < len(leaves) && nibble(&leaves[n].id, depth) == branch {
			n++
		}
		var child Hash
		if n > 0 {
			child = v.node(depth+1, leaves[:n])
		}
		copy(children[branch*len(child):], child[:])
		leaves = leaves[n:]
	}
	v.hash.Reset()
	v.hash.Write(v.inner[depth][:])
	return v.end()
}

func nibble(id *Hash, i int) int {
	if i%2 == 0 {
		return int(id[i/2] >> 4)
	}
	return int(id[i/2] & 15)
}

func (v *Verifier) headerHash(header []byte) Hash {
	v.begin(prefixHeader)
	v.hash.Write(header)
	return v.end()
}

func (v *Verifier) begin(prefix string) {
	v.hash.Reset()
	v.short = append(v.short[:0], prefix...)
	v.hash.Write(v.short)
}

func (v *Verifier) prefixed(b []byte) {
	v.short = AppendVL(v.short[:0], len(b))
	v.hash.Write(v.short)
	v.hash.Write(b)
}

func (v *Verifier) end() Hash { return Hash(v.hash.Sum(v.sum[:0])[:32]) }

package sim

import (
	"context"
	"errors"
	"slices"

	"dyno/parts/xrpl"
)

// wrong says whether a fault changes a right answer. (Forged ledgers are wrong in the chain.)
func (k Kind) wrong() bool {
	switch k {
	case Empty, Partial, Flip, Parent, Fork, Signature, Other:
		return true
	}
	return false
}

type tampered struct {
	entry
	txs []xrpl.Transaction
}

// tamper makes a wrong answer from the n-th entry. It returns nil if the ledger has nothing to
// change in this way: no transactions, no neighbour.
func (s *Sim) tamper(ctx context.Context, e *entry, n int, attempt uint32, kind Kind) (*tampered, error) {
	index := e.index()
	roll := s.dice.roll("tamper", uint64(index), uint64(attempt))
	if kind == Other {
		return s.neighbour(ctx, index, roll)
	}
	txs, err := s.chain.transactions(e.set)
	if err != nil {
		return nil, err
	}
	t := &tampered{entry: *e, txs: txs}
	h, err := xrpl.ParseHeader(e.header[:])
	if err != nil {
		return nil, err
	}
	switch kind {
	case Empty, Partial, Signature:
		if len(txs) == 0 {
			return nil, nil
		}
	}
	switch kind {
	case Empty:
		t.txs = nil
	case Partial:
		t.txs = leaveOut(txs, roll)
	case Flip:
		t.flip(roll)
	case Parent:
		h.Parent[roll%32] ^= 1 << (roll >> 8 % 8)
		t.seal(&h)
	case Fork:
		s.chain.mu.Lock()
		t.seal(s.chain.forked(h, n))
		s.chain.mu.Unlock()
	case Signature:
		if !spoilSignature(t.txs, roll) {
			return nil, nil
		}
		if h.Transactions, err = xrpl.NewVerifier().Root(t.txs); err != nil {
			return nil, err
		}
		t.seal(&h)
	}
	return t, nil
}

func (t *tampered) seal(h *xrpl.Header) {
	h.Append(t.header[:0])
	t.hash = h.Hash()
}

func (s *Sim) neighbour(ctx context.Context, index uint32, roll uint64) (*tampered, error) {
	around := []uint32{index + 1, index - 1}
	if roll&1 == 1 {
		slices.Reverse(around)
	}
	for _, i := range around {
		e, _, err := s.chain.at(ctx, i)
		if errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return nil, err
		}
		txs, err := s.chain.transactions(e.set)
		return &tampered{e, txs}, err
	}
	return nil, nil
}

// flip changes one byte: of the header in one case of eight, else of a transaction or its metadata.
func (t *tampered) flip(roll uint64) {
	where := t.header[:]
	if len(t.txs) > 0 && roll%8 != 0 {
		tx := t.txs[roll>>8%uint64(len(t.txs))]
		if where = tx.Blob; roll%2 == 0 && len(tx.Meta) > 0 {
			where = tx.Meta
		}
	}
	where[roll>>24%uint64(len(where))] ^= byte(1 + roll>>48%255)
}

// leaveOut returns the transactions without one, or without all from some point on.
func leaveOut(txs []xrpl.Transaction, roll uint64) []xrpl.Transaction {
	at := int(roll >> 8 % uint64(len(txs)))
	if roll%2 == 0 {
		return txs[:at]
	}
	return slices.Delete(txs, at, at+1)
}

// spoilSignature changes one byte in the signature of one of the transactions, which stays readable
// and becomes wrong. It skips transactions without their own signature, in a replay, and returns
// whether it changed one.
func spoilSignature(txs []xrpl.Transaction, roll uint64) bool {
	for i := range txs {
		tx := txs[(roll%uint64(len(txs))+uint64(i))%uint64(len(txs))]
		if at, size, err := signatureOf(tx.Blob); err == nil {
			// The last bytes belong to S, in DER and in Ed25519: the structure stays.
			tx.Blob[at+size-1-int(roll>>32%8)] ^= byte(1 + roll>>48%255)
			return true
		}
	}
	return false
}

// minSignature is below the size of any signature: 64 bytes with Ed25519, about 70 with secp256k1.
const minSignature = 60

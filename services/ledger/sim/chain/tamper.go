package chain

import (
	"context"
	"errors"
	"slices"

	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl"
)

// Tampered is a wrong answer: a ledger and transactions that do not belong together, or are not the
// chain's.
type Tampered struct {
	Entry
	Transactions []xrpl.Transaction
}

// Tamper makes a wrong answer of a kind from a ledger; roll is a random number. It returns nil if
// the ledger has nothing to change in this way: no transactions, no neighbour.
func (c *Chain) Tamper(ctx context.Context, e *Entry, kind fault.Kind, roll uint64) (*Tampered, error) {
	if kind == fault.Other {
		return c.neighbour(ctx, e.Index(), roll)
	}
	txs, err := c.transactions(e.set)
	if err != nil {
		return nil, err
	}
	t := &Tampered{*e, txs}
	h, err := xrpl.ParseHeader(e.header[:])
	if err != nil {
		return nil, err
	}
	switch kind {
	case fault.Empty, fault.Partial, fault.Signature:
		if len(txs) == 0 {
			return nil, nil
		}
	}
	switch kind {
	case fault.Empty:
		t.Transactions = nil
	case fault.Partial:
		t.Transactions = leaveOut(txs, roll)
	case fault.Flip:
		t.flip(roll)
	case fault.Parent:
		h.Parent[roll%32] ^= 1 << (roll >> 8 % 8)
		t.seal(&h)
	case fault.Fork:
		c.mu.Lock()
		t.seal(c.forked(h, c.place(h.Index)))
		c.mu.Unlock()
	case fault.Signature:
		if !spoilSignature(t.Transactions, roll) {
			return nil, nil
		}
		if h.Transactions, err = xrpl.NewVerifier().Root(t.Transactions); err != nil {
			return nil, err
		}
		t.seal(&h)
	}
	return t, nil
}

func (t *Tampered) seal(h *xrpl.Header) {
	h.Append(t.header[:0])
	t.hash = h.Hash()
}

func (c *Chain) neighbour(ctx context.Context, index uint32, roll uint64) (*Tampered, error) {
	around := []uint32{index + 1, index - 1}
	if roll&1 == 1 {
		slices.Reverse(around)
	}
	for _, i := range around {
		e, err := c.At(ctx, i)
		if errors.Is(err, ErrNotThere) {
			continue
		}
		if err != nil {
			return nil, err
		}
		txs, err := c.transactions(e.set)
		return &Tampered{e, txs}, err
	}
	return nil, nil
}

// flip changes one byte: of the header in one case of eight, else of a transaction or its metadata.
func (t *Tampered) flip(roll uint64) {
	where := t.header[:]
	if len(t.Transactions) > 0 && roll%8 != 0 {
		tx := t.Transactions[roll>>8%uint64(len(t.Transactions))]
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

// Package index finds waiting transactions by their hashes, and the best-paying of those that can
// be sealed next. Its implementations differ in their locks and in what Walk costs.
//
// It is not for rules: which transaction may wait, and which can be sealed, is the mempool's. It
// starts no goroutines.
package index

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"go.opentelemetry.io/otel/trace"
)

// Index holds entries. Its methods may be called concurrently, those for one entry not.
type Index interface {
	// Put adds an entry for Get. Its hash must be new.
	Put(*Entry)
	// Get returns the entry of a transaction's hash, or nil.
	Get(common.Hash) *Entry
	// Delete removes an entry that was Put; it must not be offered.
	Delete(*Entry)

	// Offer adds an entry for Walk. It must be new there.
	Offer(*Entry)
	// Retract removes an entry that was offered and not taken.
	Retract(*Entry)
	// Offered is the number of entries that are offered.
	Offered() int
	// Walk visits the offered entries that pay the base fee, those with the highest effective tips
	// first, and of equal ones the oldest. Visit decides what becomes of the entry, and may return
	// another one to be offered, which the same walk visits in its turn. Visit must not call the
	// index.
	Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry))
}

// NewMap returns an empty index of two maps, of all entries and of those that are offered, with a
// lock each. A walk orders all that is offered.
func NewMap() Index { return newMaps(1) }

// NewSharded returns what NewMap does, in 64 shards with locks of their own.
func NewSharded() Index { return newMaps(shards) }

// NewHeap returns an empty index of a sharded map, and a heap of the entries that are offered.
func NewHeap() Index { return newOrdered(new(fees)) }

// NewSkipList returns an empty index of a sharded map, and a skip list of the entries that are
// offered.
func NewSkipList() Index { return newOrdered(new(list)) }

// Verdict is what becomes of an entry that a walk visits.
type Verdict int

// The verdicts.
const (
	Stop  Verdict = iota // it stays offered, and the walk ends
	Keep                 // it stays offered, and is not visited again by this walk
	Taken                // it is no longer offered
)

// Entry is a transaction that waits.
type Entry struct {
	Tx   *types.Transaction
	From common.Address
	Raw  []byte       // canonical bytes
	Cost *uint256.Int // wei: the most that the sender can lose by it; the largest number if that has more bits

	// Trace is the place of the transaction in a trace that is recorded; nil: none is.
	Trace *trace.SpanContext

	// Arrival orders entries that pay the same. It is set before the entry is Put.
	Arrival uint64

	cap, tip  uint256.Int // wei per gas
	effective uint256.Int // the tip at the base fee by which an ordered index is ordered; guarded by its lock
	unpaid    bool        // the entry cannot pay that base fee; guarded likewise
	place     int         // in a heap; guarded likewise
}

// NewEntry returns the entry of a transaction, whose sender was recovered and whose numbers were
// judged to have at most 256 bits.
func NewEntry(tx *types.Transaction, from common.Address, raw []byte) *Entry {
	e := &Entry{Tx: tx, From: from, Raw: raw, Cost: clamp(tx.Cost())}
	e.cap, e.tip = *clamp(tx.GasFeeCap()), *clamp(tx.GasTipCap())
	return e
}

// clamp converts a number that is not negative.
func clamp(n *big.Int) *uint256.Int {
	v, overflow := uint256.FromBig(n)
	if overflow {
		v.SetAllOne()
	}
	return v
}

// FeeCap is the most that the sender pays, in wei per gas.
func (e *Entry) FeeCap() *uint256.Int { return &e.cap }

// TipCap is the most that the sender pays above the base fee, in wei per gas.
func (e *Entry) TipCap() *uint256.Int { return &e.tip }

// rate computes what the entry pays above a base fee.
func (e *Entry) rate(base *uint256.Int) {
	if e.unpaid = e.cap.Lt(base); e.unpaid {
		e.effective.Clear()
		return
	}
	if e.effective.Sub(&e.cap, base); e.effective.Gt(&e.tip) {
		e.effective = e.tip
	}
}

// before reports whether a walk visits e before another entry, by what rate found.
func (e *Entry) before(other *Entry) bool {
	if e.unpaid != other.unpaid {
		return other.unpaid
	}
	if c := e.effective.Cmp(&other.effective); c != 0 {
		return c > 0
	}
	return e.Arrival < other.Arrival
}

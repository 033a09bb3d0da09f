package mempool

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"go.opentelemetry.io/otel/trace"
)

// Entry is a transaction that waits.
type Entry struct {
	Tx   *types.Transaction
	From common.Address
	Raw  []byte       // canonical bytes
	Cost *uint256.Int // wei: the most that the sender can lose by it; the largest number if that has more bits

	// Trace is the place of the transaction in a trace that is recorded; nil: none is.
	Trace *trace.SpanContext

	// Arrival orders entries that pay the same. It is set before the entry is put into the index.
	Arrival uint64

	cap, tip  uint256.Int // wei per gas
	effective uint256.Int // the tip at the base fee of the last walk; guarded by the lock of the index
	unpaid    bool        // the entry cannot pay that base fee; guarded likewise
	place     int         // in a heap; guarded likewise
}

// NewEntry returns the entry of a transaction, which execution.Judge has found valid. Raw are its
// canonical bytes, which the entry keeps.
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

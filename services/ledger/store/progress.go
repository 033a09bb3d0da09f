package store

import (
	"fmt"

	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
)

// Progress is the request of a sync, so that the sync can continue without flags. It is written
// with every batch. It may contain secrets: server URLs are stored as given.
type Progress struct {
	From    uint32   `json:"from"` // lowest requested ledger
	To      uint32   `json:"to"`   // highest requested ledger
	Servers []string `json:"servers"`
	Level   string   `json:"level"`             // L0 to L4
	Anchor  string   `json:"anchor"`            // as given: HASH, INDEX:HASH, quorum, or empty
	UNL     string   `json:"unl,omitempty"`     // its file
	UNLKey  string   `json:"unl_key,omitempty"` // key of the list's publisher

	// Sample applies to L4: the signatures of every Sample-th ledger were checked; 0: of each.
	Sample int `json:"signature_sample,omitempty"`
}

// After is p for a store whose earlier progress is before: ledgers that were proved by a sample
// stay so when the next sync checks all signatures.
func (p Progress) After(before Progress) Progress {
	p.Sample = max(p.Sample, before.Sample)
	if level, err := trust.ParseLevel(p.Level); err != nil || level < trust.L4 || p.Sample <= 1 {
		p.Sample = 0
	}
	return p
}

// Proof is how far the stored ledgers were proved, as in "L4 with the signatures of one ledger in
// 10"; "" if there are none.
func (p Progress) Proof() string {
	if p.Sample <= 1 {
		return p.Level
	}
	return fmt.Sprintf("%s with the signatures of one ledger in %d", p.Level, p.Sample)
}

// Range is the requested range.
func (p Progress) Range() history.Range { return history.Range{From: p.From, To: p.To} }

// maxRanges bounds the set of stored ledgers, which is written with every batch. A sync fills
// ranges; it does not scatter ledgers.
const maxRanges = 50_000

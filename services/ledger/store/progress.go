package store

import (
	"fmt"

	"dyno/services/ledger/history"
	"dyno/services/ledger/trust"
)

// Progress is what a sync was asked for, so that it can go on without being told again. It is written with every
// batch. It may hold secrets: servers are as they were given, with what their URLs hold.
type Progress struct {
	From    uint32   `json:"from"` // the lowest ledger asked for
	To      uint32   `json:"to"`   // the highest
	Servers []string `json:"servers"`
	Level   string   `json:"level"`             // L0 to L4
	Anchor  string   `json:"anchor"`            // as it was given: HASH, INDEX:HASH, quorum, or nothing
	UNL     string   `json:"unl,omitempty"`     // the file
	UNLKey  string   `json:"unl_key,omitempty"` // of the list's publisher

	// Sample is of L4: the signatures of one ledger in so many were checked; 0 is of each.
	Sample int `json:"signature_sample,omitempty"`
}

// After is p for a store that was filled as before says already: what a sample was checked of does not become checked as
// a whole because the next sync checks all.
func (p Progress) After(before Progress) Progress {
	p.Sample = max(p.Sample, before.Sample)
	if level, err := trust.ParseLevel(p.Level); err != nil || level < trust.L4 || p.Sample <= 1 {
		p.Sample = 0
	}
	return p
}

// Proof says how far what is stored was proved, as in "L4 with the signatures of one ledger in 10"; "" if nothing was.
func (p Progress) Proof() string {
	if p.Sample <= 1 {
		return p.Level
	}
	return fmt.Sprintf("%s with the signatures of one ledger in %d", p.Level, p.Sample)
}

// Range is what was asked for.
func (p Progress) Range() history.Range { return history.Range{From: p.From, To: p.To} }

// maxRanges bounds the set of stored ledgers, which is written with every batch. A sync fills ranges; it does not
// scatter ledgers.
const maxRanges = 50_000

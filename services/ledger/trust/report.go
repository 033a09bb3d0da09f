package trust

import (
	"cmp"
	"fmt"
	"slices"
)

// Report is the result for the ledgers in a file. In its JSON form, fields
// may be added, never changed.
type Report struct {
	Ledgers      int       `json:"ledgers"`      // non-blank lines
	Verified     int       `json:"verified"`     // ledgers that passed
	Transactions int       `json:"transactions"` // of ledgers that are consistent in themselves
	Signatures   int       `json:"signatures"`   // valid signatures
	Links        int       `json:"links"`        // between neighbours in the file
	Failed       []Failure `json:"failed"`       // by line; the first maxFailures that were found
	Marks                  // failed ledgers whose hashes fit
}

// Failure is a line that failed.
type Failure struct {
	Line   int    `json:"line"` // from 1
	Index  uint32 `json:"ledger_index"`
	Reason string `json:"reason"`
}

// maxFailures bounds the list in a report, to about 20 MB. Verified counts all.
const maxFailures = 100_000

// failures are the lines that failed, each with its first reason. Lines beyond the list take one
// bit each, so a long file of failures needs little memory here. From L2 on, chain needs memory for
// every ledger.
type failures struct {
	count  int
	failed []uint64 // by line
	listed []Failure
}

func (f *failures) add(line int, index uint32, reason string) {
	word, bit := line/64, uint64(1)<<(line%64)
	if missing := word + 1 - len(f.failed); missing > 0 {
		f.failed = append(f.failed, make([]uint64, missing)...)
	}
	if f.failed[word]&bit != 0 {
		return
	}
	f.failed[word] |= bit
	f.count++
	if len(f.listed) < maxFailures {
		f.listed = append(f.listed, Failure{line, index, reason})
	}
}

func (f *failures) list() []Failure {
	all := append([]Failure{}, f.listed...)
	slices.SortFunc(all, func(a, b Failure) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// Err is nil if there were ledgers and none failed.
func (r *Report) Err() error {
	switch failed := r.Ledgers - r.Verified; {
	case r.Ledgers == 0:
		return fmt.Errorf("there is no ledger in it: each line must be an answer to `ledger` with binary: true")
	case failed > 0:
		return fmt.Errorf("%d of %d ledgers failed; the first in line %d: %s", failed, r.Ledgers, r.Failed[0].Line, r.Failed[0].Reason)
	}
	return nil
}

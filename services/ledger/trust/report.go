package trust

import (
	"cmp"
	"fmt"
	"slices"
)

// Report is what became of the ledgers in a file. As JSON it is what `ledgersync verify --json` prints; fields may be
// added, never changed.
type Report struct {
	Ledgers      int       `json:"ledgers"`      // lines that are not blank
	Verified     int       `json:"verified"`     // of those
	Transactions int       `json:"transactions"` // in ledgers that hold up by themselves
	Signatures   int       `json:"signatures"`   // that fit
	Links        int       `json:"links"`        // between neighbours in the file
	Failed       []Failure `json:"failed"`       // by line; maxFailures at most, those that were found first
	Marks                  // of them, those whose hashes fit
}

// Failure is a line that failed.
type Failure struct {
	Line   int    `json:"line"` // from 1
	Index  uint32 `json:"ledger_index"`
	Reason string `json:"reason"`
}

// maxFailures bounds what a report lists, some 20 MB. Verified counts them all.
const maxFailures = 100_000

// failures are the lines that failed, with what is first to be said about each. Of those that are not listed there is
// one bit: a long file of nothing but failures takes no memory to speak of here. From L2 on it is the chain that takes it,
// of every ledger.
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

// list gives them by line.
func (f *failures) list() []Failure {
	all := append([]Failure{}, f.listed...)
	slices.SortFunc(all, func(a, b Failure) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// Err is nil when there were ledgers and none failed.
func (r *Report) Err() error {
	switch failed := r.Ledgers - r.Verified; {
	case r.Ledgers == 0:
		return fmt.Errorf("there is no ledger in it: each line has to be an answer to `ledger` with binary: true")
	case failed > 0:
		return fmt.Errorf("%d of %d ledgers failed; the first in line %d: %s", failed, r.Ledgers, r.Failed[0].Line, r.Failed[0].Reason)
	}
	return nil
}

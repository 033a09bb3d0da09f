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
	Failed       []Failure `json:"failed"`       // by line; the first maxFailures
}

// Failure is a line that failed.
type Failure struct {
	Line   int    `json:"line"` // from 1
	Index  uint32 `json:"ledger_index"`
	Reason string `json:"reason"`
}

// maxFailures bounds what a report lists, some 20 MB. Verified counts them all.
const maxFailures = 100_000

// failures are the lines that failed, with what is first to be said about each.
type failures map[int]Failure

func (f failures) add(line int, index uint32, reason string) {
	if _, failed := f[line]; !failed {
		f[line] = Failure{line, index, reason}
	}
}

// list gives them by line.
func (f failures) list() []Failure {
	all := make([]Failure, 0, len(f))
	for _, one := range f {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Failure) int { return cmp.Compare(a.Line, b.Line) })
	return all[:min(len(all), maxFailures)]
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

package trust

import (
	"cmp"
	"fmt"
	"slices"

	"dyno/services/ledger/xrpl/history"
)

// Mark is a ledger that has its hash and fails verification at L4: a signature is wrong, or this
// program does not know the required signer. It is no server's fault.
type Mark struct {
	Index  uint32 `json:"ledger_index"`
	Reason string `json:"reason"`
}

// Marks are the marked ledgers of a folder or a file.
type Marks struct {
	Marked []Mark `json:"marked"` // by index; MaxMarks at most
	More   int    `json:"more_marked,omitempty"`
}

// MaxMarks bounds the number of listed ledgers.
const MaxMarks = 1000

// Add adds a ledger.
func (m *Marks) Add(index uint32, reason string) {
	if len(m.Marked) == MaxMarks {
		m.More++
		return
	}
	m.Marked = append(m.Marked, Mark{index, reason})
}

// Sort sorts the marks by index, and replaces nil by an empty list.
func (m *Marks) Sort() {
	m.Marked = slices.SortedFunc(slices.Values(m.Marked), func(a, b Mark) int { return cmp.Compare(a.Index, b.Index) })
	if m.Marked == nil {
		m.Marked = []Mark{}
	}
}

// Len is the number of marked ledgers.
func (m Marks) Len() int { return len(m.Marked) + m.More }

// But appends the number of marked ledgers, if there are any, to a statement of what is proved.
func (m Marks) But(proof string) string {
	if m.Len() == 0 || proof == "" {
		return proof
	}
	return fmt.Sprintf("%s, but for %d marked ledgers", proof, m.Len())
}

// Summary is a line with the number of marked ledgers and their indexes, used by all commands, or
// "" if there are none.
func (m Marks) Summary() string {
	if m.Len() == 0 {
		return ""
	}
	var which history.Set
	for _, one := range m.Marked {
		which = which.With(history.Range{From: one.Index, To: one.Index})
	}
	more := ""
	if m.More > 0 {
		more = fmt.Sprintf(" and %d more", m.More)
	}
	return fmt.Sprintf("marked ledgers, whose hashes fit and which do not verify at L4: %d (%v%s); the first: %s\n", m.Len(), which, more, m.Marked[0].Reason)
}

// Package trust says how much of a ledger is proved: the levels, whether the ledgers in a file hold up to one, and
// which ledger the validators of a list agreed on, from which everything else can be proved. What the bytes must look
// like is parts/xrpl's; fetching, linking and storing while history is downloaded is services/ledger's.
//
// VerifyFile owns the goroutines that it starts and waits for them. Nothing else here starts any.
package trust

import (
	"fmt"
	"strings"
)

// Level is how much is proved. Each level proves what the one below it does.
type Level int

// The levels.
const (
	L0 Level = iota // the bytes can be read
	L1              // the header has its hash, and the transactions are the header's
	L2              // each ledger is the parent of the next, up to an anchor
	L3              // the anchor is what a quorum of validators agreed on
	L4              // who sent a transaction signed it; with L3 where the anchor is a quorum's
)

var levels = [...]struct{ name, proves string }{
	L0: {"L0", "the bytes can be read"},
	L1: {"L1", "headers have their hashes, and the transactions are theirs"},
	L2: {"L2", "and ledgers are linked by their parents' hashes"},
	L3: {"L3", "and a quorum of validators agreed on the anchor"},
	L4: {"L4", "and all transactions are signed"},
}

// ParseLevel reads L0 to L4.
func ParseLevel(s string) (Level, error) {
	for l, is := range levels {
		if strings.EqualFold(s, is.name) {
			return Level(l), nil
		}
	}
	return 0, fmt.Errorf("level %q: there are L0 to L4", s)
}

// String is the level's name.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levels) {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levels[l].name
}

// Explain says what each level proves.
func Explain() string {
	var s []string
	for _, l := range levels {
		s = append(s, l.name+": "+l.proves)
	}
	return strings.Join(s, ", ")
}

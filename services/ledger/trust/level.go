// Package trust defines how much of a ledger is proved, as levels, and verifies files of ledgers to
// a level. It also reads lists of trusted validators (unique node lists) and counts their signed
// validations: which ledger a quorum agreed on, from which all ledgers below can be proved.
//
// It is not for the format of ledgers (services/ledger/xrpl), of validations and of manifests
// (services/ledger/signing), nor for fetching any of them (services/ledger/servers).
//
// VerifyFile owns the goroutines that it starts and waits for them. The rest of the package starts
// none.
package trust

import (
	"fmt"
	"strings"
)

// Level is how much is proved. Each level includes the one below it.
type Level int

// The levels.
const (
	L0 Level = iota // the bytes can be parsed
	L1              // the header has its hash, and contains the hash of the transactions
	L2              // each ledger is the parent of the next, up to an anchor
	L3              // a quorum of validators agreed on the anchor
	L4              // every transaction is signed by its sender; includes L3 if the anchor is a quorum's
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

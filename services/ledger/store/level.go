package store

import "fmt"

// Level is how much is proved.
type Level int

// The levels.
const (
	L0 Level = iota
	L1
	L2
	L3
	L4
)

// ParseLevel reads L0 to L4.
func ParseLevel(s string) (Level, error) {
	for l := L0; l <= L4; l++ {
		if s == fmt.Sprintf("L%d", l) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("level %q: want L0 to L4", s)
}

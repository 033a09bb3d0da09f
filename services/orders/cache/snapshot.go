package cache

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot says which transactions had ended, visibly to all, at one moment on the primary.
type snapshot struct {
	xmin    uint64 // all below had ended
	xmax    uint64 // none from here on had begun
	running []uint64
}

// parseSnapshot reads what pg_current_snapshot() gives as text, such as 10:20:10,14,15.
func parseSnapshot(text string) (s snapshot, err error) {
	xmin, rest, _ := strings.Cut(text, ":")
	xmax, list, ok := strings.Cut(rest, ":")
	bad := !ok
	number := func(digits string) uint64 {
		n, err := strconv.ParseUint(digits, 10, 64)
		bad = bad || err != nil
		return n
	}
	s.xmin, s.xmax = number(xmin), number(xmax)
	if list != "" {
		for digits := range strings.SplitSeq(list, ",") {
			s.running = append(s.running, number(digits))
		}
	}
	if bad || s.xmin > s.xmax {
		return snapshot{}, fmt.Errorf("%.40q is no snapshot such as 10:20:10,14,15", text)
	}
	return s, nil
}

// widen gives the whole number of a transaction of which the feed tells the low 32 bits: the one nearest to xmax.
func (s *snapshot) widen(xid uint32) uint64 { return s.xmax + uint64(int64(int32(xid-uint32(s.xmax)))) }

// ended reports whether the transaction had.
func (s *snapshot) ended(xid uint32) bool {
	x := s.widen(xid)
	return x < s.xmin || x < s.xmax && !slices.Contains(s.running, x)
}

// allEnded reports whether it and all before it had.
func (s *snapshot) allEnded(xid uint32) bool { return s.widen(xid) < s.xmin }

// Package history defines ranges of ledger indexes and sets of them: which ledgers a server has,
// which a store has, which are missing. It is not for ledgers themselves (services/ledger/xrpl). It
// starts no goroutines.
package history

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Range is a span of ledgers, both ends included. The zero value is no range: there is no ledger 0.
type Range struct{ From, To uint32 }

// Len is the number of ledgers.
func (r Range) Len() int {
	if r.From == 0 || r.To < r.From {
		return 0
	}
	return int(r.To-r.From) + 1
}

// Has says whether a ledger is in the range.
func (r Range) Has(index uint32) bool { return r.From <= index && index <= r.To }

// String returns FROM-TO, as servers write it, or one index.
func (r Range) String() string {
	if r.From == r.To {
		return strconv.FormatUint(uint64(r.From), 10)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Set is a set of ledgers as ranges that neither touch nor overlap, in ascending order. Its zero
// value is empty. It is a value: methods that change a set return the new one and leave the old.
type Set []Range

// maxRanges bounds a set that is parsed from foreign text. A real server has about ten ranges.
const maxRanges = 100_000

// ParseSet reads what a server calls complete_ledgers: "empty", or ranges as in
// "32570-32580,40000".
func ParseSet(text string) (Set, error) {
	var s Set
	if text == "" || text == "empty" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, more := strings.Cut(strings.TrimSpace(part), "-")
		if !more {
			to = from
		}
		first, err := parseIndex(from)
		if err != nil {
			return nil, fmt.Errorf("ledgers %q: %w", text, err)
		}
		last, err := parseIndex(to)
		if err != nil {
			return nil, fmt.Errorf("ledgers %q: %w", text, err)
		}
		if last < first {
			return nil, fmt.Errorf("ledgers %q: %d-%d ends before it begins", text, first, last)
		}
		if len(s) == maxRanges {
			return nil, fmt.Errorf("ledgers: more than %d ranges", maxRanges)
		}
		s = append(s, Range{first, last})
	}
	return s.normal(), nil
}

func parseIndex(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%.20q is not the index of a ledger (1 to 4294967295)", text)
	}
	return uint32(n), nil
}

// normal sorts ranges and joins those that touch, in place.
func (s Set) normal() Set {
	slices.SortFunc(s, func(a, b Range) int { return int(int64(a.From) - int64(b.From)) })
	out := s[:0]
	for _, r := range s {
		if n := len(out); n > 0 && uint64(r.From) <= uint64(out[n-1].To)+1 {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// String returns the set as servers write it.
func (s Set) String() string {
	if len(s) == 0 {
		return "empty"
	}
	var b strings.Builder
	for i, r := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(r.String())
	}
	return b.String()
}

// Len is the number of ledgers.
func (s Set) Len() (n int) {
	for _, r := range s {
		n += r.Len()
	}
	return n
}

// Has says whether a ledger is in the set.
func (s Set) Has(index uint32) bool {
	_, found := slices.BinarySearchFunc(s, index, func(r Range, index uint32) int {
		switch {
		case r.To < index:
			return -1
		case r.From > index:
			return 1
		}
		return 0
	})
	return found
}

// With returns the union of the set and some ranges.
func (s Set) With(ranges ...Range) Set {
	all := append(slices.Clone(s), ranges...)
	return slices.DeleteFunc(all, func(r Range) bool { return r.Len() == 0 }).normal()
}

// Without returns the ledgers of the set that are not in another.
func (s Set) Without(other Set) Set {
	var rest Set
	for _, r := range s {
		rest = append(rest, other.Missing(r)...)
	}
	return rest
}

// Missing returns the ranges of r that are not in the set, in ascending order: its gaps.
func (s Set) Missing(r Range) Set {
	var gaps Set
	next := uint64(r.From)
	for _, have := range s {
		if have.To < r.From || r.Len() == 0 {
			continue
		}
		if have.From > r.To {
			break
		}
		if uint64(have.From) > next {
			gaps = append(gaps, Range{uint32(next), have.From - 1})
		}
		next = uint64(have.To) + 1
	}
	if r.Len() > 0 && next <= uint64(r.To) {
		gaps = append(gaps, Range{uint32(next), r.To})
	}
	return gaps
}

// Indexes yields every ledger of the set in ascending order.
func (s Set) Indexes() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, r := range s {
			for i := uint64(r.From); i <= uint64(r.To); i++ {
				if !yield(uint32(i)) {
					return
				}
			}
		}
	}
}

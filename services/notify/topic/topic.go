// Package topic matches the types of notices against what subscribers ask for: an exact type, a
// prefix and ".*" (order.* wants order.paid and order.paid.eu, not order), or * alone for all. It
// is not for regular expressions: who subscribes should be able to say what comes.
package topic

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds on what a client may ask for.
const (
	MaxPatterns = 100
	MaxLen      = 256 // bytes of a type or pattern
)

// Match reports whether patterns want a type. No patterns want all.
func Match(patterns []string, kind string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if match(p, kind) {
			return true
		}
	}
	return false
}

func match(pattern, kind string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	if !open {
		return pattern == kind
	}
	return strings.HasPrefix(kind, prefix)
}

// Check says what is wrong with patterns; nil: nothing.
func Check(patterns []string) error {
	if len(patterns) > MaxPatterns {
		return fmt.Errorf("%d types; give at most %d, a prefix such as order.*, or none for all", len(patterns), MaxPatterns)
	}
	for _, p := range patterns {
		switch star := strings.IndexByte(p, '*'); {
		case p == "":
			return errors.New("an empty type; leave types out for all")
		case len(p) > MaxLen:
			return fmt.Errorf("type %.20q... is longer than %d bytes", p, MaxLen)
		case !utf8.ValidString(p):
			return fmt.Errorf("type %q is not UTF-8", p)
		case star < 0 || p == "*":
		case star != len(p)-1 || !strings.HasSuffix(p, ".*"):
			return fmt.Errorf("type %q: a star stands alone or at the end after a full stop, as in order.*", p)
		}
	}
	return nil
}

// Parse reads patterns separated by commas, as in a query.
func Parse(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	patterns := strings.Split(list, ",")
	return patterns, Check(patterns)
}

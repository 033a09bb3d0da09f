package topic

import (
	"slices"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		patterns, kind string
		want           bool
	}{
		{"", "order", true},
		{"*", "order", true},
		{"order", "order", true},
		{"order", "order.paid", false},
		{"order.*", "order.paid", true},
		{"order.*", "order.paid.eu", true},
		{"order.*", "order", false},
		{"order.*", "orders.paid", false},
		{"a,order.paid", "order.paid", true},
		{"a,b.*", "c", false},
	} {
		patterns, err := Parse(c.patterns)
		if err != nil {
			t.Fatal(err)
		}
		if got := Match(patterns, c.kind); got != c.want {
			t.Errorf("%q wants %q: %v", c.patterns, c.kind, got)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{"a,", "order*", "a*b", "*.a", "a.*.b", strings.Repeat("x", MaxLen+1)} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%.20q passes", bad)
		}
	}
	if Check(slices.Repeat([]string{"a"}, MaxPatterns+1)) == nil {
		t.Error("any number of patterns passes")
	}
}

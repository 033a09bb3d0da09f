package order

import (
	"strings"
	"testing"
)

func TestValidNames(t *testing.T) {
	for _, c := range []struct {
		what     string
		valid    func(string) bool
		yes, not []string
	}{
		{"account", ValidAccount,
			[]string{"A1", "a.b_c:d-E9", strings.Repeat("x", 64)},
			[]string{"", "A 1", "A/1", "A\n", "Ä", "A\x00", strings.Repeat("x", 65)}},
		{"client order id", ValidClientOrderID,
			[]string{"1", "a b", `~!"<&>\`, strings.Repeat("x", 64)},
			[]string{"", "a\tb", "\x7f", "é", "\xff", "a\x01", strings.Repeat("x", 65)}},
		{"symbol", ValidSymbol,
			[]string{"ACME", "EUR/USD", "BRK.B", "X_1-2", strings.Repeat("X", 32)},
			[]string{"", "acme", "A B", "A:B", "Ä", strings.Repeat("X", 33)}},
	} {
		for _, text := range c.yes {
			if !c.valid(text) {
				t.Errorf("%s %q is refused", c.what, text)
			}
		}
		for _, text := range c.not {
			if c.valid(text) {
				t.Errorf("%s %q is valid", c.what, text)
			}
		}
	}
}

package folder

import (
	"strings"
	"testing"
)

// Names that dyno does not give to runs are refused, since they appear in events and addresses.
func FuzzRunName(f *testing.F) {
	for _, s := range []string{"001-search-plain", "1000-leave-a.b_c", "-x", "0-x", "001", "001-a\nb", "001-a/b", "9999999999-x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, of, ok := RunName(s)
		if ok && (n < 1 || !strings.HasSuffix(s, "-"+of) || strings.ContainsAny(s, "/\\\n\r\x00 ")) {
			t.Fatalf("%q is run %d for %q", s, n, of)
		}
	})
}

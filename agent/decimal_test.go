package agent

import (
	"strconv"
	"strings"
	"testing"
)

func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"", "0", "17", "-1", "+1", " 1", "1e3", "007", strings.Repeat("9", maxDigits), strings.Repeat("9", maxDigits+1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decimal(text)
		want, err := strconv.ParseUint(text, 10, 63)
		if valid := err == nil && len(text) <= maxDigits; ok != valid || ok && got != int64(want) {
			t.Errorf("decimal(%q) = %d, %v; want %d, %v", text, got, ok, want, valid)
		}
	})
}

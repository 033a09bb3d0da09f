package api

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func FuzzStorageKey(f *testing.F) {
	for _, text := range []string{"", "0x", "0x0", "0X1", "ff", "0xasdf", "0x" + strings.Repeat("0", 64), strings.Repeat("1", 65), "0x0x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, length, err := storageKey(text)
		if err != nil {
			return
		}
		again, _, err := storageKey(key.Hex())
		if err != nil || again != key || length > common.HashLength {
			t.Errorf("%q: %x of %d bytes; again %x, %v", text, key, length, again, err)
		}
	})
}

package xrpl

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Well-known accounts: xrpl.org/addresses.html, "Special Addresses", and the key of the genesis
// account.
func TestAddresses(t *testing.T) {
	genesis, _ := hex.DecodeString("0330E7FC9D56BB25D6893BA3F317AE5BCF33B3291BD63DB32654A313222F7FD020")
	for address, id := range map[string]AccountID{
		"rrrrrrrrrrrrrrrrrrrrrhoLvTp":        {},
		"rrrrrrrrrrrrrrrrrrrrBZbvji":         {19: 1},
		"rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh": KeyAccount(genesis),
	} {
		if id.String() != address {
			t.Errorf("%X is written as %v, not %s", id[:], id, address)
		}
		if got, err := ParseAddress(address); got != id || err != nil {
			t.Errorf("%s is read as %X: %v", address, got[:], err)
		}
	}
	for _, bad := range []string{"", "r", "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTH", "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyT0",
		FormatNodeKey(genesis), strings.Repeat("r", 1000), "rrrrr\xff"} {
		if got, err := ParseAddress(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestNodeKeysReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), KeySize, KeySize).Draw(t, "key")
		s := FormatNodeKey(key)
		if got, err := ParseNodeKey(s); string(got) != string(key) || err != nil || s[0] != 'n' {
			t.Fatalf("%X is written as %s and read as %X: %v", key, s, got, err)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	f.Add("rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseAddress(s); err == nil && id.String() != s {
			t.Errorf("%q is read as %v", s, id)
		}
		if key, err := ParseNodeKey(s); err == nil && FormatNodeKey(key) != s {
			t.Errorf("%q is read as %X", s, key)
		}
	})
}

func TestHashes(t *testing.T) {
	text := strings.Repeat("0F", 32)
	for _, s := range []string{text, strings.ToLower(text)} {
		if h, err := ParseHash(s); h.String() != text || h.IsZero() || err != nil {
			t.Errorf("%s is read as %v: %v", s, h, err)
		}
	}
	for _, s := range []string{"", text + "0", text[1:], strings.Repeat("G", 64)} {
		if h, err := ParseHash(s); err == nil || !h.IsZero() && len(s) != 64 {
			t.Errorf("%q is read as %v: %v", s, h, err)
		}
	}
}

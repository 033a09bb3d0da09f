package signing

import (
	"errors"
	"slices"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// The validity of a signature depends on the ledger's close time.
func TestErasOfSignatures(t *testing.T) {
	alice := NewKey([]byte("alice"))
	blob := func(flags uint32) xrpl.Fields {
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kindPayment).UInt32(sfield.Flags, flags).UInt32(sfield.Sequence, 1).
			Drops(sfield.Fee, 10).Blob(sfield.SigningPubKey, alice.Public()).Account(sfield.Account, alice.Account())
	}
	data, err := SigningData(nil, blob(0))
	if err != nil {
		t.Fatal(err)
	}
	with := func(signature []byte) []byte {
		b, err := blob(0).Insert(sfield.TxnSignature, xrpl.Fields(nil).Blob(sfield.TxnSignature, signature))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := alice.Sign(data)
	padded := slices.Insert(slices.Clone(good), 4, 0) // a zero before R
	padded[1]++
	padded[3]++
	sponsor := signed1(t, blob(0).Open(sfield.SponsorSignature).EndObject(), alice)
	const always = ^uint32(0)
	for _, c := range []struct {
		name  string
		blob  []byte
		until uint32 // valid in ledgers that closed before
	}{
		{"canonical", with(good), always},
		{"padded", with(padded), canonicalFrom},
		{"something after it", with(append(slices.Clone(good), 0)), canonicalFrom},
		{"high S", high(t, blob(0), alice), lowFrom},
		{"high S against the flags", high(t, blob(flagFullyCanonical), alice), 0},
		{"cut off", with(good[:len(good)-1]), 0},
		{"of something else", with(alice.Sign([]byte("something else"))), 0},
	} {
		for _, closed := range []uint32{0, canonicalFrom - 1, canonicalFrom, lowFrom - 1, lowFrom, sponsorsFrom} {
			h := xrpl.Header{Index: 1, Close: closed}
			l := &xrpl.Ledger{Header: h.Append(nil), Transactions: []xrpl.Transaction{{Blob: c.blob, Meta: metaOf(c.blob)}}}
			for name, check := range Checkers() {
				_, err := Verify(l, check)
				if valid := closed < c.until; valid != (err == nil) || !valid && !errors.Is(err, ErrSignature) {
					t.Errorf("%s, closed at %d, %s: %v", c.name, closed, name, err)
				}
			}
		}
	}
	for closed, want := range map[uint32]error{sponsorsFrom - 1: xrpl.ErrMalformed, sponsorsFrom: ErrSignature} {
		h := xrpl.Header{Index: 1, Close: closed}
		l := &xrpl.Ledger{Header: h.Append(nil), Transactions: []xrpl.Transaction{{Blob: sponsor, Meta: metaOf(sponsor)}}}
		if _, err := Verify(l, Pure{}); !errors.Is(err, want) {
			t.Errorf("an empty sponsor's signature, closed at %d: %v, not %v", closed, err, want)
		}
	}
}

// The early parser reads the same numbers as the canonical one from every canonical signature.
func FuzzEarlySignature(f *testing.F) {
	f.Add(NewKey([]byte("fuzz")).Sign([]byte("m")))
	f.Add([]byte{0x30, 6, 2, 1, 0x81, 2, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, s, ok := parseEarly(b)
		r2, s2, err := parseDER(b)
		if err == nil && (!ok || !r.Equals(&r2) || !s.Equals(&s2)) {
			t.Errorf("%X: %v, %v %v instead of %v %v", b, ok, r, s, r2, s2)
		}
	})
}

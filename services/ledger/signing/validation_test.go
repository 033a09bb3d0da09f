package signing

import (
	"errors"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

func TestValidation(t *testing.T) {
	k := NewKey([]byte("validator"))
	for _, full := range []bool{true, false} {
		want := Validation{Ledger: xrpl.Hash{7}, Index: 99, SignTime: 1234, Full: full}
		b := want.Sign(k)
		got, err := ParseValidation(b)
		if err != nil || got.Ledger != want.Ledger || got.Index != 99 || got.SignTime != 1234 || got.Full != full || string(got.Key) != string(k.Public()) {
			t.Errorf("%+v is read as %+v: %v", want, got, err)
		}
		flipAll(t, b, func() error { _, err := ParseValidation(b); return err })
	}
	if _, err := ParseValidation(make([]byte, maxValidation+1)); !errors.Is(err, xrpl.ErrMalformed) {
		t.Error(err)
	}
	unnamed := xrpl.Fields(nil).UInt32(sfield.Flags, flagFull).Blob(sfield.SigningPubKey, k.Public())
	unnamed = unnamed.Blob(sfield.Signature, k.Sign(append([]byte(prefixValidation), unnamed...)))
	if _, err := ParseValidation(unnamed); !errors.Is(err, xrpl.ErrMalformed) {
		t.Errorf("a validation of no ledger: %v", err)
	}
}

func TestManifest(t *testing.T) {
	master, key := NewKeyEd25519([]byte("master")), NewKey([]byte("key"))
	for _, domain := range []string{"", "example.com"} {
		b := SignManifest(master, key, 3, domain)
		m, err := ParseManifest(b)
		if err != nil || m.Sequence != 3 || string(m.Master) != string(master.Public()) || string(m.Key) != string(key.Public()) || m.Domain != domain || m.Revoked() {
			t.Errorf("read as %+v: %v", m, err)
		}
		flipAll(t, b, func() error { _, err := ParseManifest(b); return err })
	}
	m, err := ParseManifest(SignManifest(master, nil, 0, ""))
	if err != nil || !m.Revoked() || m.Key != nil {
		t.Errorf("a revocation is read as %+v: %v", m, err)
	}
	if _, err := ParseManifest(make([]byte, maxManifest+1)); !errors.Is(err, xrpl.ErrMalformed) {
		t.Error(err)
	}
}

func flipAll(t *testing.T, b []byte, read func() error) {
	t.Helper()
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if err := read(); !errors.Is(err, ErrSignature) && !errors.Is(err, xrpl.ErrMalformed) {
			t.Errorf("bit %d changed: %v", bit, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	if err := read(); err != nil {
		t.Error(err)
	}
}

func FuzzParseValidation(f *testing.F) {
	f.Add(Validation{Ledger: xrpl.Hash{7}, Full: true}.Sign(NewKey([]byte("validator"))))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = ParseValidation(b) })
}

func FuzzParseManifest(f *testing.F) {
	f.Add(SignManifest(NewKey([]byte("master")), NewKey([]byte("key")), 1, "example.com"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = ParseManifest(b) })
}

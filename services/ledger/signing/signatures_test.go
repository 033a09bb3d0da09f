package signing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestRealSignatures(t *testing.T) {
	for name, check := range Checkers() {
		all, ledgers := 0, xrpltest.Ledgers(t)
		if testing.Short() {
			ledgers = ledgers[len(ledgers)-1:]
		}
		for _, l := range ledgers {
			n, err := Verify(&l, check)
			all += n
			if err != nil {
				t.Errorf("%s: ledger %d: %v", name, l.Index, err)
			}
		}
		if all == 0 {
			t.Errorf("%s: no signatures", name)
		}
	}
}

// fastest returns a checker for tests that check very many signatures.
func fastest() Checker {
	_, c := FastestChecker()
	return c
}

// The C library is chosen wherever it was built in, and the returned name selects the same checker.
func TestFastestChecker(t *testing.T) {
	name, c := FastestChecker()
	if all := Checkers(); all[name] != c || c == nil || len(all) > 1 && name != "libsecp256k1" {
		t.Errorf("%s is %T, of %v", name, c, all)
	}
}

// Changing any bit of a signed transaction makes its signature fail, even if the hashes are
// recomputed.
func TestEveryFlippedBitBreaksTheSignature(t *testing.T) {
	alice, bob := NewKey([]byte("alice")), NewKeyEd25519([]byte("bob"))
	several, err := multiSign((&Payment{Account: xrpl.AccountID{9}, Fee: 10}).Unsigned(nil), alice, bob)
	if err != nil {
		t.Fatal(err)
	}
	for name, blob := range map[string][]byte{
		"secp256k1": payment(t, alice, 0).Blob,
		"ed25519":   payment(t, bob, 0).Blob,
		"several":   several,
	} {
		l := &xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: blob, Meta: metaOf(blob)}}}
		if n, err := Verify(l, fastest()); n == 0 || err != nil {
			t.Fatalf("%s: %d signatures, %v", name, n, err)
		}
		for bit := range 8 * len(blob) {
			blob[bit/8] ^= 1 << (bit % 8)
			if _, err := Verify(l, fastest()); err == nil {
				t.Errorf("%s: bit %d changed and the signature held", name, bit)
			}
			blob[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestSignatures(t *testing.T) {
	alice, bob, carol := NewKey([]byte("alice")), NewKey([]byte("bob")), NewKeyEd25519([]byte("carol"))
	plain := func(flags uint32, k *Key) xrpl.Fields {
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kindPayment).UInt32(sfield.Flags, flags).UInt32(sfield.Sequence, 1).
			Drops(sfield.Fee, 10).Blob(sfield.SigningPubKey, k.Public()).Account(sfield.Account, k.Account())
	}
	amendment := func(key []byte, account xrpl.AccountID) xrpl.Fields {
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kindEnableAmendment).UInt32(sfield.Sequence, 0).
			Blob(sfield.SigningPubKey, key).Account(sfield.Account, account)
	}
	several := (&Payment{Account: alice.Account(), Fee: 10}).Unsigned(nil)
	claim := func(k *Key) xrpl.Fields {
		message := append([]byte(prefixClaim), make([]byte, 32)...)
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kindChannelClaim).UInt32(sfield.Sequence, 1).Hash(sfield.Channel, xrpl.Hash{}).
			Drops(sfield.Amount, 500).Drops(sfield.Fee, 10).Blob(sfield.PublicKey, carol.Public()).Blob(sfield.SigningPubKey, alice.Public()).
			Blob(sfield.Signature, k.Sign(binary.BigEndian.AppendUint64(message, 500))).Account(sfield.Account, alice.Account())
	}
	pseudo := func(sequence uint32, fee uint64) xrpl.Fields {
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kindUNLModify).UInt32(sfield.Sequence, sequence).
			Drops(sfield.Fee, fee).Blob(sfield.SigningPubKey, nil).Account(sfield.Account, xrpl.AccountID{})
	}
	inner := xrpl.Fields(nil).UInt16(sfield.TransactionType, kindPayment).UInt32(sfield.Flags, flagInnerBatch).UInt32(sfield.Sequence, 5).
		Drops(sfield.Fee, 0).Blob(sfield.SigningPubKey, nil).Account(sfield.Account, alice.Account())
	batch := append(append(xrpl.Fields(nil).UInt16(sfield.TransactionType, kindBatch).UInt32(sfield.Flags, 0).UInt32(sfield.Sequence, 4).Drops(sfield.Fee, 30).
		Blob(sfield.SigningPubKey, alice.Public()).Account(sfield.Account, alice.Account()).
		Open(sfield.RawTransactions).Open(sfield.RawTransaction), inner...), xrpl.Fields(nil).EndObject().EndArray()...)
	for _, c := range []struct {
		name  string
		blobs [][]byte
		n     int
		want  error
	}{
		{"one signer", [][]byte{signed1(t, plain(0, alice), alice)}, 1, nil},
		{"ed25519", [][]byte{signed1(t, plain(0, carol), carol)}, 1, nil},
		{"S above half the order", [][]byte{high(t, plain(0, alice), alice)}, 1, nil},
		{"S above half the order, against the flags", [][]byte{high(t, plain(flagFullyCanonical, alice), alice)}, 0, ErrSignature},
		{"another's signature", [][]byte{signed1(t, plain(0, alice), bob)}, 0, ErrSignature},
		{"no signature", [][]byte{plain(0, alice)}, 0, ErrSignature},
		{"no key", [][]byte{several}, 0, ErrSignature},
		{"no account", [][]byte{xrpl.Fields(nil).UInt16(sfield.TransactionType, kindPayment)}, 0, xrpl.ErrMalformed},
		{"a field is there twice", [][]byte{append(plain(0, alice), plain(0, alice)...)}, 0, xrpl.ErrMalformed},
		{"the second is forged", [][]byte{signed1(t, plain(0, alice), alice), signed1(t, plain(0, bob), alice)}, 1, ErrSignature},

		{"amendment", [][]byte{amendment(nil, xrpl.AccountID{})}, 0, nil},
		{"amendment with an account", [][]byte{amendment(nil, bob.Account())}, 0, ErrSignature},
		{"amendment with a key", [][]byte{amendment(bob.Public(), xrpl.AccountID{})}, 0, ErrSignature},

		{"change of the UNL", [][]byte{pseudo(0, 0)}, 0, nil},
		{"change of the UNL with a fee", [][]byte{pseudo(0, 10)}, 0, ErrSignature},
		{"change of the UNL with a sequence", [][]byte{pseudo(7, 0)}, 0, ErrSignature},
		{"change of the UNL with a destination", [][]byte{pseudo(0, 0).Account(sfield.Destination, bob.Account())}, 0, ErrSignature},
		{"fees", [][]byte{xrpl.Fields(nil).UInt16(sfield.TransactionType, kindUNLModify-1).UInt32(sfield.Sequence, 0).Drops(sfield.Fee, 0).
			Drops(sfield.BaseFeeDrops, 10).Blob(sfield.SigningPubKey, nil).Account(sfield.Account, xrpl.AccountID{})}, 0, nil},
		{"fees and an offer", [][]byte{xrpl.Fields(nil).UInt16(sfield.TransactionType, kindUNLModify-1).UInt32(sfield.Sequence, 0).
			Drops(sfield.TakerPays, 10).Drops(sfield.Fee, 0).Blob(sfield.SigningPubKey, nil).Account(sfield.Account, xrpl.AccountID{})}, 0, ErrSignature},
		{"change of the UNL with signers", [][]byte{pseudo(0, 0).Open(sfield.Signers).EndArray()}, 0, ErrSignature},

		{"several signers", [][]byte{signedBy(t, several, bob, carol)}, 2, nil},
		{"the same signer twice", [][]byte{signedBy(t, several, bob, bob)}, 1, ErrSignature},
		{"signers and a key", [][]byte{signedBy(t, plain(0, alice), bob, carol)}, 0, ErrSignature},
		{"signers and a signature", [][]byte{signed1(t, signedBy(t, several, bob), alice)}, 0, ErrSignature},
		{"no signers beside a signature", [][]byte{signed1(t, plain(0, alice).Open(sfield.Signers).EndArray(), alice)}, 0, ErrSignature},
		{"its own signer", [][]byte{signedBy(t, several, alice, bob)}, 0, ErrSignature},
		{"no signers", [][]byte{several.Open(sfield.Signers).EndArray()}, 0, ErrSignature},

		{"a claim on a channel", [][]byte{signed1(t, claim(carol), alice)}, 1, nil},
		{"a claim on a channel, forged", [][]byte{signed1(t, claim(bob), alice)}, 0, ErrSignature},
		{"a claim in a payment", [][]byte{signed1(t, signatureIn(plain(0, alice)), alice)}, 0, xrpl.ErrMalformed},
		{"signers of a batch in a payment", [][]byte{signed1(t, plain(0, alice).Open(sfield.BatchSigners).EndArray(), alice)}, 0, xrpl.ErrMalformed},

		{"a sponsor's signature before there were any", [][]byte{signed1(t, plain(0, alice).Open(sfield.SponsorSignature).EndObject(), alice)}, 0, xrpl.ErrMalformed},

		{"out of a batch", [][]byte{signed1(t, batch, alice), inner}, 1, nil},
		{"out of a batch that comes later", [][]byte{inner, signed1(t, batch, alice)}, 1, nil},
		{"out of no batch", [][]byte{inner}, 0, ErrSignature},
		{"out of another batch", [][]byte{signed1(t, batch, alice), append(slices.Clone(inner), 0x83, 0)}, 1, ErrSignature},
		{"out of an unsigned batch", [][]byte{batch, inner}, 0, ErrSignature},
	} {
		l := &xrpl.Ledger{}
		for _, b := range c.blobs {
			l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: b, Meta: metaOf(b)})
		}
		for name, check := range Checkers() {
			n, err := Verify(l, check)
			if n != c.n || !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s, %s: %d signatures, not %d; %v, not %v", c.name, name, n, c.n, err, c.want)
			}
		}
	}
}

// metaOf returns metadata with the accounts that a transaction needs.
func metaOf(blob []byte) []byte {
	s, err := readSigned(blob)
	if err != nil {
		return nil
	}
	return rootOf(xrpl.Fields(nil).Open(sfield.AffectedNodes), xrpl.AccountID(s.account), nil, nil, s.sequence).EndArray()
}

// rootOf appends an account that a transaction changed: the regular key before, if it changed, the
// current one, and the sequence before; zero means unchanged.
func rootOf(b xrpl.Fields, account xrpl.AccountID, before, after *Key, sequence uint32) xrpl.Fields {
	b = b.Open(sfield.ModifiedNode).UInt16(sfield.LedgerEntryType, entryAccountRoot).Open(sfield.PreviousFields)
	if sequence != 0 {
		b = b.UInt32(sfield.Sequence, sequence)
	}
	if before != nil {
		b = b.Account(sfield.RegularKey, before.Account())
	}
	b = b.EndObject().Open(sfield.FinalFields).Account(sfield.Account, account)
	if after != nil {
		b = b.Account(sfield.RegularKey, after.Account())
	}
	return b.EndObject().EndObject()
}

func signed1(t *testing.T, b xrpl.Fields, k *Key) []byte {
	t.Helper()
	blob, err := SignTransaction(b, k)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func signedBy(t *testing.T, b xrpl.Fields, keys ...*Key) []byte {
	t.Helper()
	blob, err := multiSign(b, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// high signs with the other S, which is the order minus the usual one.
func high(t *testing.T, b xrpl.Fields, k *Key) []byte {
	t.Helper()
	data, err := SigningData(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	_, s, err := parseDER(k.Sign(data))
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := parseDER(k.Sign(data))
	s.Negate()
	der := xrpl.Fields{0x30, 0}
	for _, n := range [][32]byte{r.Bytes(), s.Bytes()} {
		number := n[:]
		if number[0] >= 0x80 {
			number = append([]byte{0}, number...)
		}
		der = append(append(der, 0x02, byte(len(number))), number...)
	}
	der[1] = byte(len(der) - 2)
	blob, err := b.Insert(sfield.TxnSignature, xrpl.Fields(nil).Blob(sfield.TxnSignature, der))
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// A key may sign for an account as its master key, or as its regular key before or after the
// transaction.
func TestWhoMaySign(t *testing.T) {
	alice, bob, carol := NewKey([]byte("alice")), NewKey([]byte("bob")), NewKey([]byte("carol"))
	node := func(account xrpl.AccountID, before, after *Key) xrpl.Fields {
		return rootOf(xrpl.Fields(nil).Open(sfield.AffectedNodes), account, before, after, 0).EndArray()
	}
	for _, c := range []struct {
		name string
		meta []byte
		want error
	}{
		{"a regular key", node(alice.Account(), nil, bob), nil},
		{"a regular key that was taken away", node(alice.Account(), bob, nil), nil},
		{"a regular key that was replaced", node(alice.Account(), bob, carol), nil},
		{"another regular key", node(alice.Account(), nil, carol), ErrKey},
		{"no regular key", node(alice.Account(), nil, nil), ErrKey},
		{"the regular key of another account", slices.Concat(node(carol.Account(), nil, bob), node(alice.Account(), nil, nil)), ErrKey},
		{"the regular key that comes after", node(alice.Account(), carol, bob), ErrKey},
		{"the account is not in the metadata", node(carol.Account(), nil, nil), ErrMetadata},
		{"no metadata", nil, ErrMetadata},
		{"metadata cut off", []byte{0xf8}, xrpl.ErrMalformed},
	} {
		p := Payment{Account: alice.Account(), Fee: 10}
		blob, err := p.Sign(bob)
		if err != nil {
			t.Fatal(err)
		}
		l := &xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: blob, Meta: c.meta}}}
		if _, err := Verify(l, Pure{}); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
	}
}

// Signatures in any form but the canonical one are refused.
func TestDER(t *testing.T) {
	good := NewKey([]byte("alice")).Sign([]byte("message"))
	if _, err := ecdsa.ParseDERSignature(good); err != nil {
		t.Fatal(err)
	}
	number := func(b ...byte) []byte { return append([]byte{0x02, byte(len(b))}, b...) }
	der := func(parts ...[]byte) []byte {
		b := slices.Concat(parts...)
		return append([]byte{0x30, byte(len(b))}, b...)
	}
	if _, _, err := parseDER(der(number(1), number(0, 0x80))); err != nil {
		t.Error(err)
	}
	for name, b := range map[string][]byte{
		"nothing":              nil,
		"a byte too many":      append(slices.Clone(good), 0),
		"a byte too few":       good[:len(good)-1],
		"zero":                 der(number(1), number(0)),
		"negative":             der(number(0x80), number(1)),
		"padded":               der(number(0, 1), number(1)),
		"no number":            der(number(), number(1, 1, 1, 1)),
		"one number":           der(number(1, 1, 1, 1, 1, 1)),
		"three numbers":        der(number(1), number(1), number(1)),
		"the order and beyond": der(number(1), number(append([]byte{0}, slices.Repeat([]byte{0xff}, 32)...)...)),
		"33 bytes":             der(number(1), number(slices.Repeat([]byte{1}, 33)...)),
		"length beyond":        {0x30, 6, 2, 1, 1, 2, 200, 1},
		"long form":            {0x30, 0x81, 6, 2, 1, 1, 2, 1, 1},
	} {
		if _, _, err := parseDER(b); !errors.Is(err, ErrSignature) {
			t.Errorf("%s (%X): %v", name, b, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	k := NewKey([]byte("fuzz"))
	f.Add(k.Public(), k.Sign([]byte("m")))
	e := NewKeyEd25519([]byte("fuzz"))
	f.Add(e.Public(), e.Sign([]byte("m")))
	checkers := Checkers()
	f.Fuzz(func(t *testing.T, key, signature []byte) {
		want := Pure{}.Check(key, []byte("m"), signature)
		for name, c := range checkers {
			if got := c.Check(key, []byte("m"), signature); got != want {
				t.Errorf("%s says %v of key %X and signature %X, the pure one %v", name, got, key, signature, want)
			}
		}
	})
}

// signatureIn inserts a field Signature in its place.
func signatureIn(b xrpl.Fields) xrpl.Fields {
	b, _ = b.Insert(sfield.Signature, xrpl.Fields(nil).Blob(sfield.Signature, []byte{1}))
	return b
}

// BenchmarkLedger checks the real ledger with the most transactions in today's format: 90150378,
// with 90.
func BenchmarkLedger(b *testing.B) {
	ledgers := xrpltest.Ledgers(b)
	l := slices.MaxFunc(ledgers, func(a, b xrpl.Ledger) int { return len(a.Transactions) - len(b.Transactions) })
	for name, check := range Checkers() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(&l, check); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzSigningData(f *testing.F) {
	f.Add(payment(f, NewKey([]byte("fuzz")), 1).Blob)
	f.Add(payment(f, NewKey([]byte("fuzz")), 1).Meta)
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := SigningData(nil, b)
		if err != nil {
			return
		}
		// Signing data contain no signatures that could be removed again.
		if twice, err := SigningData(nil, once[4:]); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("signing data of signing data: %X, not %X: %v", twice, once, err)
		}
		_ = mayUse(make([]byte, xrpl.KeySize), xrpl.AccountID{1}, b)
	})
}

func payment(t testing.TB, k *Key, index uint32) xrpl.Transaction {
	t.Helper()
	p := Payment{Destination: xrpl.AccountID{1, 2, 3}, Drops: 1e6, Fee: 10, Sequence: 7, LastLedger: 1010}
	blob, err := p.Sign(k)
	if err != nil {
		t.Fatal(err)
	}
	return xrpl.Transaction{Blob: blob, Meta: metaOf(blob)}
}

package xrpl

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

func TestRealSignatures(t *testing.T) {
	for name, check := range Checkers() {
		v, all, ledgers := NewVerifier(), 0, real(t)
		if testing.Short() {
			ledgers = ledgers[len(ledgers)-1:]
		}
		for _, l := range ledgers {
			n, err := v.Signatures(&l, check)
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
func fastest() SignatureChecker {
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
	several, err := multiSign((&Payment{Account: AccountID{9}, Fee: 10}).Unsigned(nil), alice, bob)
	if err != nil {
		t.Fatal(err)
	}
	v := NewVerifier()
	for name, blob := range map[string][]byte{
		"secp256k1": payment(t, alice, 0).Blob,
		"ed25519":   payment(t, bob, 0).Blob,
		"several":   several,
	} {
		l := &Ledger{Transactions: []Transaction{{Blob: blob, Meta: metaOf(blob)}}}
		if n, err := v.Signatures(l, fastest()); n == 0 || err != nil {
			t.Fatalf("%s: %d signatures, %v", name, n, err)
		}
		for bit := range 8 * len(blob) {
			blob[bit/8] ^= 1 << (bit % 8)
			if _, err := v.Signatures(l, fastest()); err == nil {
				t.Errorf("%s: bit %d changed and the signature held", name, bit)
			}
			blob[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestSignatures(t *testing.T) {
	alice, bob, carol := NewKey([]byte("alice")), NewKey([]byte("bob")), NewKeyEd25519([]byte("carol"))
	plain := func(flags uint32, k *Key) Fields {
		return Fields(nil).UInt16(codeTransactionType, kindPayment).UInt32(codeFlags, flags).UInt32(codeSequence, 1).
			Drops(codeFee, 10).Blob(codeSigningPubKey, k.Public()).Account(codeAccount, k.Account())
	}
	amendment := func(key []byte, account AccountID) Fields {
		return Fields(nil).UInt16(codeTransactionType, kindEnableAmendment).UInt32(codeSequence, 0).
			Blob(codeSigningPubKey, key).Account(codeAccount, account)
	}
	several := (&Payment{Account: alice.Account(), Fee: 10}).Unsigned(nil)
	claim := func(k *Key) Fields {
		message := append([]byte(prefixClaim), make([]byte, 32)...)
		return Fields(nil).UInt16(codeTransactionType, kindChannelClaim).UInt32(codeSequence, 1).Hash(codeChannel, Hash{}).
			Drops(codeAmount, 500).Drops(codeFee, 10).Blob(codePublicKey, carol.Public()).Blob(codeSigningPubKey, alice.Public()).
			Blob(codeSignature, k.Sign(binary.BigEndian.AppendUint64(message, 500))).Account(codeAccount, alice.Account())
	}
	pseudo := func(sequence uint32, fee uint64) Fields {
		return Fields(nil).UInt16(codeTransactionType, kindUNLModify).UInt32(codeSequence, sequence).
			Drops(codeFee, fee).Blob(codeSigningPubKey, nil).Account(codeAccount, AccountID{})
	}
	inner := Fields(nil).UInt16(codeTransactionType, kindPayment).UInt32(codeFlags, flagInnerBatch).UInt32(codeSequence, 5).
		Drops(codeFee, 0).Blob(codeSigningPubKey, nil).Account(codeAccount, alice.Account())
	batch := append(append(Fields(nil).UInt16(codeTransactionType, kindBatch).UInt32(codeFlags, 0).UInt32(codeSequence, 4).Drops(codeFee, 30).
		Blob(codeSigningPubKey, alice.Public()).Account(codeAccount, alice.Account()).
		Array(codeRawTransactions).Object(codeRawTransaction), inner...), Fields(nil).EndObject().EndArray()...)
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
		{"no account", [][]byte{Fields(nil).UInt16(codeTransactionType, kindPayment)}, 0, ErrMalformed},
		{"a field is there twice", [][]byte{append(plain(0, alice), plain(0, alice)...)}, 0, ErrMalformed},
		{"the second is forged", [][]byte{signed1(t, plain(0, alice), alice), signed1(t, plain(0, bob), alice)}, 1, ErrSignature},

		{"amendment", [][]byte{amendment(nil, AccountID{})}, 0, nil},
		{"amendment with an account", [][]byte{amendment(nil, bob.Account())}, 0, ErrSignature},
		{"amendment with a key", [][]byte{amendment(bob.Public(), AccountID{})}, 0, ErrSignature},

		{"change of the UNL", [][]byte{pseudo(0, 0)}, 0, nil},
		{"change of the UNL with a fee", [][]byte{pseudo(0, 10)}, 0, ErrSignature},
		{"change of the UNL with a sequence", [][]byte{pseudo(7, 0)}, 0, ErrSignature},
		{"change of the UNL with a destination", [][]byte{pseudo(0, 0).Account(codeDestination, bob.Account())}, 0, ErrSignature},
		{"fees", [][]byte{Fields(nil).UInt16(codeTransactionType, kindUNLModify-1).UInt32(codeSequence, 0).Drops(codeFee, 0).
			Drops(codeBaseFeeDrops, 10).Blob(codeSigningPubKey, nil).Account(codeAccount, AccountID{})}, 0, nil},
		{"fees and an offer", [][]byte{Fields(nil).UInt16(codeTransactionType, kindUNLModify-1).UInt32(codeSequence, 0).
			Drops(codeTakerPays, 10).Drops(codeFee, 0).Blob(codeSigningPubKey, nil).Account(codeAccount, AccountID{})}, 0, ErrSignature},
		{"change of the UNL with signers", [][]byte{pseudo(0, 0).Array(codeSigners).EndArray()}, 0, ErrSignature},

		{"several signers", [][]byte{signedBy(t, several, bob, carol)}, 2, nil},
		{"the same signer twice", [][]byte{signedBy(t, several, bob, bob)}, 1, ErrSignature},
		{"signers and a key", [][]byte{signedBy(t, plain(0, alice), bob, carol)}, 0, ErrSignature},
		{"signers and a signature", [][]byte{signed1(t, signedBy(t, several, bob), alice)}, 0, ErrSignature},
		{"no signers beside a signature", [][]byte{signed1(t, plain(0, alice).Array(codeSigners).EndArray(), alice)}, 0, ErrSignature},
		{"its own signer", [][]byte{signedBy(t, several, alice, bob)}, 0, ErrSignature},
		{"no signers", [][]byte{several.Array(codeSigners).EndArray()}, 0, ErrSignature},

		{"a claim on a channel", [][]byte{signed1(t, claim(carol), alice)}, 1, nil},
		{"a claim on a channel, forged", [][]byte{signed1(t, claim(bob), alice)}, 0, ErrSignature},
		{"a claim in a payment", [][]byte{signed1(t, signatureIn(plain(0, alice)), alice)}, 0, ErrMalformed},
		{"signers of a batch in a payment", [][]byte{signed1(t, plain(0, alice).Array(codeBatchSigners).EndArray(), alice)}, 0, ErrMalformed},

		{"a sponsor's signature before there were any", [][]byte{signed1(t, plain(0, alice).Object(codeSponsorSignature).EndObject(), alice)}, 0, ErrMalformed},

		{"out of a batch", [][]byte{signed1(t, batch, alice), inner}, 1, nil},
		{"out of a batch that comes later", [][]byte{inner, signed1(t, batch, alice)}, 1, nil},
		{"out of no batch", [][]byte{inner}, 0, ErrSignature},
		{"out of another batch", [][]byte{signed1(t, batch, alice), append(slices.Clone(inner), 0x83, 0)}, 1, ErrSignature},
		{"out of an unsigned batch", [][]byte{batch, inner}, 0, ErrSignature},
	} {
		l := &Ledger{}
		for _, b := range c.blobs {
			l.Transactions = append(l.Transactions, Transaction{Blob: b, Meta: metaOf(b)})
		}
		for name, check := range Checkers() {
			n, err := NewVerifier().Signatures(l, check)
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
	return Fields(nil).Array(codeAffectedNodes).rootOf(AccountID(s.account), nil, nil, s.sequence).EndArray()
}

// rootOf appends an account that a transaction changed: the regular key before, if it changed, the
// current one, and the sequence before; zero means unchanged.
func (b Fields) rootOf(account AccountID, before, after *Key, sequence uint32) Fields {
	b = b.Object(codeModifiedNode).UInt16(codeLedgerEntryType, entryAccountRoot).Object(codePreviousFields)
	if sequence != 0 {
		b = b.UInt32(codeSequence, sequence)
	}
	if before != nil {
		b = b.Account(codeRegularKey, before.Account())
	}
	b = b.EndObject().Object(codeFinalFields).Account(codeAccount, account)
	if after != nil {
		b = b.Account(codeRegularKey, after.Account())
	}
	return b.EndObject().EndObject()
}

func signed1(t *testing.T, b Fields, k *Key) []byte {
	t.Helper()
	blob, err := SignTransaction(b, k)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

func signedBy(t *testing.T, b Fields, keys ...*Key) []byte {
	t.Helper()
	blob, err := multiSign(b, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// high signs with the other S, which is the order minus the usual one.
func high(t *testing.T, b Fields, k *Key) []byte {
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
	der := Fields{0x30, 0}
	for _, n := range [][32]byte{r.Bytes(), s.Bytes()} {
		number := n[:]
		if number[0] >= 0x80 {
			number = append([]byte{0}, number...)
		}
		der = append(append(der, 0x02, byte(len(number))), number...)
	}
	der[1] = byte(len(der) - 2)
	at, err := b.place(typeBlob, codeTxnSignature)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Insert(slices.Clone(b), at, Fields(nil).Blob(codeTxnSignature, der)...)
}

// A key may sign for an account as its master key, or as its regular key before or after the
// transaction.
func TestWhoMaySign(t *testing.T) {
	alice, bob, carol := NewKey([]byte("alice")), NewKey([]byte("bob")), NewKey([]byte("carol"))
	node := func(account AccountID, before, after *Key) Fields {
		return Fields(nil).Array(codeAffectedNodes).rootOf(account, before, after, 0).EndArray()
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
		{"metadata cut off", []byte{0xf8}, ErrMalformed},
	} {
		p := Payment{Account: alice.Account(), Fee: 10}
		blob, err := p.Sign(bob)
		if err != nil {
			t.Fatal(err)
		}
		l := &Ledger{Transactions: []Transaction{{Blob: blob, Meta: c.meta}}}
		if _, err := NewVerifier().Signatures(l, Pure{}); !errors.Is(err, c.want) || c.want == nil && err != nil {
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

func BenchmarkSignature(b *testing.B) {
	message := []byte("a transaction as it is signed")
	for keyName, k := range map[string]*Key{"secp256k1": NewKey([]byte("bench")), "ed25519": NewKeyEd25519([]byte("bench"))} {
		signature := k.Sign(message)
		for name, check := range Checkers() {
			b.Run(keyName+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !check.Check(k.Public(), message, signature) {
						b.Fatal("the signature failed")
					}
				}
			})
		}
	}
}

// signatureIn inserts a field Signature in its place.
func signatureIn(b Fields) Fields {
	at, _ := b.place(typeBlob, codeSignature)
	return slices.Insert(slices.Clone(b), at, Fields(nil).Blob(codeSignature, []byte{1})...)
}

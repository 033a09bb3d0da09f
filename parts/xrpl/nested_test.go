package xrpl

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
)

// vector is a transaction with signatures of accounts other than its sender, made by another
// implementation: testdata/nested.py.
type vector struct {
	Name  string
	Blob  hexBytes
	Inner []hexBytes // of a Batch
}

func vectors(t *testing.T) map[string]vector {
	t.Helper()
	text, err := os.ReadFile("testdata/nested.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]vector{}
	for _, v := range list {
		all[v.Name] = v
	}
	return all
}

// ledger returns a ledger from a time when sponsors could sign, with the transaction and the
// contents of the Batch.
func (v vector) ledger() *Ledger {
	h := Header{Index: 1, Close: sponsorsFrom}
	l := &Ledger{Header: h.Append(nil)}
	for _, blob := range append([]hexBytes{v.Blob}, v.Inner...) {
		l.Transactions = append(l.Transactions, Transaction{Blob: slices.Clone(blob), Meta: metaOf(blob)})
	}
	return l
}

func TestNestedSignatures(t *testing.T) {
	want := map[string]int{
		"batch": 3, "batch with a ticket": 3, "batch with several signers for one of its accounts": 4, "batch, before BatchV1_1": 3,
		"loan with its counterparty": 2, "loan with several signers for its counterparty": 3,
		"payment with a sponsor": 2, "payment with several signers for its sponsor": 3,
		"payment of several signers": 2, "attestation of a bridge's witness": 1,
	}
	all := vectors(t)
	for name, n := range want {
		v, l := NewVerifier(), all[name].ledger()
		if got, err := v.Signatures(l, fastest()); got != n || err != nil {
			t.Errorf("%s: %d signatures, not %d: %v", name, got, n, err)
			continue
		}
		blob := l.Transactions[0].Blob
		for i := range blob {
			blob[i] ^= 1
			if _, err := v.Signatures(l, fastest()); err == nil {
				t.Errorf("%s: byte %d changed and all signatures held", name, i)
			}
			blob[i] ^= 1
		}
	}
}

// A Batch without the signature of an account that it acts for is refused, and so is anything else
// in the place of a signature.
func TestNestedSignaturesMissing(t *testing.T) {
	all := vectors(t)
	for _, c := range []struct {
		name       string
		kind, code int
		instead    Fields
		want       error
	}{
		{"batch", typeArray, codeBatchSigners, nil, ErrSignature},
		{"batch", typeArray, codeBatchSigners, Fields(nil).Array(codeBatchSigners).EndArray(), ErrSignature},
		{"batch", typeArray, codeBatchSigners, Fields(nil).Array(codeBatchSigners).Object(codeSigner).EndObject().EndArray(), ErrMalformed},
		{"loan with its counterparty", typeObject, codeCounterpartySignature, Fields(nil).Object(codeCounterpartySignature).EndObject(), ErrSignature},
		{"loan with its counterparty", typeObject, codeCounterpartySignature, Fields(nil).Object(codeCounterpartySignature).Array(codeSigners).EndArray().EndObject(), ErrSignature},
		{"loan with its counterparty", typeObject, codeCounterpartySignature, Fields(nil).Object(codeCounterpartySignature).Drops(codeFee, 1).EndObject(), ErrMalformed},
		{"payment with a sponsor", typeObject, codeSponsorSignature, Fields(nil).Object(codeSponsorSignature).EndObject(), ErrSignature},
	} {
		l := all[c.name].ledger()
		blob := l.Transactions[0].Blob
		inside, found := within(blob, c.kind, c.code)
		if !found {
			t.Fatalf("%s: no field %d.%d", c.name, c.kind, c.code)
		}
		header := len(Fields(nil).header(c.kind, c.code))
		at := cap(blob) - cap(inside) - header
		l.Transactions[0].Blob = slices.Replace(slices.Clone(blob), at, at+header+len(inside)+1, c.instead...)
		if _, err := NewVerifier().Signatures(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s, with %X: %v, not %v", c.name, c.instead, err, c.want)
		}
	}
}

// Metadata shows the owner of a key: for a BatchSigner that of the transactions in the Batch, for
// others the transaction's own.
func TestNestedRights(t *testing.T) {
	all := vectors(t)
	roots := func(master bool, accounts ...AccountID) []byte {
		b := Fields(nil).Array(codeAffectedNodes)
		for i, a := range accounts {
			flags := uint32(0)
			if i == 0 && !master {
				flags = flagDisableMaster
			}
			b = b.Object(codeModifiedNode).UInt16(codeLedgerEntryType, entryAccountRoot).
				Object(codeFinalFields).UInt32(codeFlags, flags).Account(codeAccount, a).EndObject().EndObject()
		}
		return b.EndArray()
	}
	for _, name := range []string{"batch", "loan with its counterparty", "payment with a sponsor", "payment of several signers"} {
		for master, want := range map[bool]error{true: nil, false: ErrKey} {
			l := all[name].ledger()
			outer, err := readSigned(l.Transactions[0].Blob)
			if err != nil {
				t.Fatal(err)
			}
			sender := AccountID(outer.account)
			switch {
			case len(l.Transactions) > 1:
				bob, err := readSigned(l.Transactions[2].Blob)
				if err != nil {
					t.Fatal(err)
				}
				l.Transactions[2].Meta = roots(master, AccountID(bob.account))
			case outer.counterSigned:
				l.Transactions[0].Meta = roots(master, AccountID(outer.counterparty), sender)
			case outer.sponsored:
				l.Transactions[0].Meta = roots(master, AccountID(outer.sponsor), sender)
			default:
				signers, _ := within(l.Transactions[0].Blob, typeArray, codeSigners)
				_ = eachElement(signers, codeSigner, func(inside []byte) error {
					a, err := readApproval(inside)
					l.Transactions[0].Meta = roots(master, AccountID(a.account), sender)
					return err
				})
			}
			if _, err := NewVerifier().Signatures(l, Pure{}); !errors.Is(err, want) {
				t.Errorf("%s, with the master key allowed: %v: %v, not %v", name, master, err, want)
			}
		}
	}
}

// Metadata belongs to its transaction: that of another transaction has another sender.
func TestSwappedMetadata(t *testing.T) {
	alice, bob := NewKey([]byte("alice")), NewKey([]byte("bob"))
	pay := func(from, to *Key, sequence uint32) Transaction {
		p := Payment{Destination: to.Account(), Drops: 1, Fee: 10, Sequence: sequence}
		blob, err := p.Sign(from)
		if err != nil {
			t.Fatal(err)
		}
		return Transaction{Blob: blob, Meta: Fields(nil).Array(codeAffectedNodes).
			rootOf(from.Account(), nil, nil, sequence).rootOf(to.Account(), nil, nil, 0).EndArray()}
	}
	ticket := func(k *Key) []byte { // used in place of a sequence
		return Fields(nil).Array(codeAffectedNodes).Object(codeDeletedNode).UInt16(codeLedgerEntryType, entryTicket).
			Object(codeFinalFields).UInt32(codeTicketSequence, 5).Account(codeAccount, k.Account()).EndObject().EndObject().
			rootOf(alice.Account(), nil, nil, 0).rootOf(bob.Account(), nil, nil, 0).EndArray()
	}
	a, b := pay(alice, bob, 4), pay(bob, alice, 4)
	for _, c := range []struct {
		name string
		tx   Transaction
		want error
	}{
		{"its own", a, nil},
		{"of the transaction that pays it back", Transaction{Blob: a.Blob, Meta: b.Meta}, ErrMetadata},
		{"of another sequence", Transaction{Blob: a.Blob, Meta: pay(alice, bob, 5).Meta}, ErrMetadata},
		{"of others", Transaction{Blob: a.Blob, Meta: pay(bob, NewKey([]byte("carol")), 4).Meta}, ErrMetadata},
		{"of a ticket", Transaction{Blob: a.Blob, Meta: ticket(alice)}, nil},
		{"of another's ticket", Transaction{Blob: a.Blob, Meta: ticket(bob)}, ErrMetadata},
	} {
		l := &Ledger{Transactions: []Transaction{c.tx}}
		if _, err := NewVerifier().Signatures(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
	}
}

// Each real transaction accepts its own metadata, and refuses that of its neighbour.
func TestRealMetadata(t *testing.T) {
	swapped, caught := 0, 0
	for _, l := range real(t) {
		for i := 1; i < len(l.Transactions); i++ {
			a, b := &l.Transactions[i-1], &l.Transactions[i]
			s, err := readSigned(a.Blob)
			other, err2 := readSigned(b.Blob)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if s.isPseudo() || other.isPseudo() || string(s.account) == string(other.account) && (s.sequence == 0 || other.sequence == 0) {
				continue
			}
			swapped++
			if s.owns(b.Meta) != nil {
				caught++
			}
			if err := s.owns(a.Meta); err != nil {
				t.Errorf("ledger %d, transaction %d: %v", l.Index, i-1, err)
			}
		}
	}
	if swapped == 0 || caught != swapped {
		t.Errorf("of %d transactions with the metadata of another %d were found", swapped, caught)
	}
}

// For an unknown type or field, the required signers are unknown.
func TestUnknown(t *testing.T) {
	alice := NewKey([]byte("alice"))
	blob := func(kind uint16) Fields {
		return Fields(nil).UInt16(codeTransactionType, kind).UInt32(codeSequence, 1).Drops(codeFee, 10).
			Blob(codeSigningPubKey, alice.Public()).Account(codeAccount, alice.Account())
	}
	for name, c := range map[string]struct {
		blob []byte
		want error
	}{
		"known":                        {signed1(t, blob(kindPayment), alice), nil},
		"type of transaction":          {signed1(t, blob(999), alice), ErrUnknown},
		"field":                        {signed1(t, append(blob(kindPayment), Fields(nil).Account(200, alice.Account())...), alice), ErrUnknown},
		"field in an object":           {signed1(t, blob(kindPayment).Array(codeMemos).Object(codeMemo).Blob(200, nil).EndObject().EndArray(), alice), ErrUnknown},
		"type of field, unsigned":      {append(blob(kindPayment), 0xc1), ErrMalformed},
		"type of field, in the middle": {append(Fields{0xc1, 0}, blob(kindPayment)...), ErrMalformed},
	} {
		l := &Ledger{Transactions: []Transaction{{Blob: c.blob, Meta: Fields(nil).Array(codeAffectedNodes).rootOf(alice.Account(), nil, nil, 1).EndArray()}}}
		if _, err := NewVerifier().Signatures(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", name, err, c.want)
		}
	}
}

// Any nested signatures and metadata are read without a panic.
func FuzzNested(f *testing.F) {
	f.Add([]byte{0xe0, 0x25, 0xe1}, []byte{0xf8, 0xf1})
	f.Add([]byte(Fields(nil).UInt16(codeTransactionType, kindBatch).Array(codeBatchSigners).Object(codeBatchSigner).EndObject().EndArray()),
		metaOf(nil))
	f.Fuzz(func(t *testing.T, blob, meta []byte) {
		l := &Ledger{Transactions: []Transaction{{Blob: blob, Meta: meta}, {Blob: blob, Meta: meta}}}
		if s, err := readSigned(blob); err == nil {
			_, _ = s.nested(l, &l.Transactions[0], Pure{})
			if len(s.account) == accountSize {
				_ = s.owns(meta)
			}
		}
		_, _ = NewVerifier().Signatures(l, Pure{})
	})
}

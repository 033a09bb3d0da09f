package signing

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
	"dyno/services/ledger/xrpl/xrpltest"
)

// vector is a transaction with signatures of accounts other than its sender, made by another
// implementation: testdata/nested.py.
type vector struct {
	Name  string
	Blob  xrpltest.Hex
	Inner []xrpltest.Hex // of a Batch
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
func (v vector) ledger() *xrpl.Ledger {
	h := xrpl.Header{Index: 1, Close: sponsorsFrom}
	l := &xrpl.Ledger{Header: h.Append(nil)}
	for _, blob := range append([]xrpltest.Hex{v.Blob}, v.Inner...) {
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: slices.Clone(blob), Meta: metaOf(blob)})
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
		l := all[name].ledger()
		if got, err := Verify(l, fastest()); got != n || err != nil {
			t.Errorf("%s: %d signatures, not %d: %v", name, got, n, err)
			continue
		}
		blob := l.Transactions[0].Blob
		for i := range blob {
			blob[i] ^= 1
			if _, err := Verify(l, fastest()); err == nil {
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
		name    string
		field   sfield.ID
		instead xrpl.Fields
		want    error
	}{
		{"batch", sfield.BatchSigners, nil, ErrSignature},
		{"batch", sfield.BatchSigners, xrpl.Fields(nil).Open(sfield.BatchSigners).EndArray(), ErrSignature},
		{"batch", sfield.BatchSigners, xrpl.Fields(nil).Open(sfield.BatchSigners).Open(sfield.Signer).EndObject().EndArray(), xrpl.ErrMalformed},
		{"loan with its counterparty", sfield.CounterpartySignature, xrpl.Fields(nil).Open(sfield.CounterpartySignature).EndObject(), ErrSignature},
		{"loan with its counterparty", sfield.CounterpartySignature, xrpl.Fields(nil).Open(sfield.CounterpartySignature).Open(sfield.Signers).EndArray().EndObject(), ErrSignature},
		{"loan with its counterparty", sfield.CounterpartySignature, xrpl.Fields(nil).Open(sfield.CounterpartySignature).Drops(sfield.Fee, 1).EndObject(), xrpl.ErrMalformed},
		{"payment with a sponsor", sfield.SponsorSignature, xrpl.Fields(nil).Open(sfield.SponsorSignature).EndObject(), ErrSignature},
	} {
		l := all[c.name].ledger()
		blob := l.Transactions[0].Blob
		inside, found := within(blob, c.field)
		if !found {
			t.Fatalf("%s: no field %d.%d", c.name, c.field.Type(), c.field.Code())
		}
		header := len(xrpl.Fields(nil).Open(c.field))
		at := cap(blob) - cap(inside) - header
		l.Transactions[0].Blob = slices.Replace(slices.Clone(blob), at, at+header+len(inside)+1, c.instead...)
		if _, err := Verify(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s, with %X: %v, not %v", c.name, c.instead, err, c.want)
		}
	}
}

// Metadata shows the owner of a key: for a BatchSigner that of the transactions in the Batch, for
// others the transaction's own.
func TestNestedRights(t *testing.T) {
	all := vectors(t)
	roots := func(master bool, accounts ...xrpl.AccountID) []byte {
		b := xrpl.Fields(nil).Open(sfield.AffectedNodes)
		for i, a := range accounts {
			flags := uint32(0)
			if i == 0 && !master {
				flags = flagDisableMaster
			}
			b = b.Open(sfield.ModifiedNode).UInt16(sfield.LedgerEntryType, entryAccountRoot).
				Open(sfield.FinalFields).UInt32(sfield.Flags, flags).Account(sfield.Account, a).EndObject().EndObject()
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
			sender := xrpl.AccountID(outer.account)
			switch {
			case len(l.Transactions) > 1:
				bob, err := readSigned(l.Transactions[2].Blob)
				if err != nil {
					t.Fatal(err)
				}
				l.Transactions[2].Meta = roots(master, xrpl.AccountID(bob.account))
			case outer.counterSigned:
				l.Transactions[0].Meta = roots(master, xrpl.AccountID(outer.counterparty), sender)
			case outer.sponsored:
				l.Transactions[0].Meta = roots(master, xrpl.AccountID(outer.sponsor), sender)
			default:
				signers, _ := within(l.Transactions[0].Blob, sfield.Signers)
				_ = eachElement(signers, sfield.Signer, func(inside []byte) error {
					a, err := readApproval(inside)
					l.Transactions[0].Meta = roots(master, xrpl.AccountID(a.account), sender)
					return err
				})
			}
			if _, err := Verify(l, Pure{}); !errors.Is(err, want) {
				t.Errorf("%s, with the master key allowed: %v: %v, not %v", name, master, err, want)
			}
		}
	}
}

// Metadata belongs to its transaction: that of another transaction has another sender.
func TestSwappedMetadata(t *testing.T) {
	alice, bob := NewKey([]byte("alice")), NewKey([]byte("bob"))
	pay := func(from, to *Key, sequence uint32) xrpl.Transaction {
		p := Payment{Destination: to.Account(), Drops: 1, Fee: 10, Sequence: sequence}
		blob, err := p.Sign(from)
		if err != nil {
			t.Fatal(err)
		}
		b := rootOf(xrpl.Fields(nil).Open(sfield.AffectedNodes), from.Account(), nil, nil, sequence)
		return xrpl.Transaction{Blob: blob, Meta: rootOf(b, to.Account(), nil, nil, 0).EndArray()}
	}
	ticket := func(k *Key) []byte { // used in place of a sequence
		b := xrpl.Fields(nil).Open(sfield.AffectedNodes).Open(sfield.DeletedNode).UInt16(sfield.LedgerEntryType, entryTicket).
			Open(sfield.FinalFields).UInt32(sfield.TicketSequence, 5).Account(sfield.Account, k.Account()).EndObject().EndObject()
		b = rootOf(b, alice.Account(), nil, nil, 0)
		return rootOf(b, bob.Account(), nil, nil, 0).EndArray()
	}
	a, b := pay(alice, bob, 4), pay(bob, alice, 4)
	for _, c := range []struct {
		name string
		tx   xrpl.Transaction
		want error
	}{
		{"its own", a, nil},
		{"of the transaction that pays it back", xrpl.Transaction{Blob: a.Blob, Meta: b.Meta}, ErrMetadata},
		{"of another sequence", xrpl.Transaction{Blob: a.Blob, Meta: pay(alice, bob, 5).Meta}, ErrMetadata},
		{"of others", xrpl.Transaction{Blob: a.Blob, Meta: pay(bob, NewKey([]byte("carol")), 4).Meta}, ErrMetadata},
		{"of a ticket", xrpl.Transaction{Blob: a.Blob, Meta: ticket(alice)}, nil},
		{"of another's ticket", xrpl.Transaction{Blob: a.Blob, Meta: ticket(bob)}, ErrMetadata},
	} {
		l := &xrpl.Ledger{Transactions: []xrpl.Transaction{c.tx}}
		if _, err := Verify(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", c.name, err, c.want)
		}
	}
}

// Each real transaction accepts its own metadata, and refuses that of its neighbour.
func TestRealMetadata(t *testing.T) {
	swapped, caught := 0, 0
	for _, l := range xrpltest.Ledgers(t) {
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
	blob := func(kind uint16) xrpl.Fields {
		return xrpl.Fields(nil).UInt16(sfield.TransactionType, kind).UInt32(sfield.Sequence, 1).Drops(sfield.Fee, 10).
			Blob(sfield.SigningPubKey, alice.Public()).Account(sfield.Account, alice.Account())
	}
	for name, c := range map[string]struct {
		blob []byte
		want error
	}{
		"known":                        {signed1(t, blob(kindPayment), alice), nil},
		"type of transaction":          {signed1(t, blob(999), alice), ErrUnknown},
		"field":                        {signed1(t, append(blob(kindPayment), xrpl.Fields(nil).Account(sfield.Make(sfield.TypeAccount, 200), alice.Account())...), alice), ErrUnknown},
		"field in an object":           {signed1(t, blob(kindPayment).Open(sfield.Memos).Open(sfield.Memo).Blob(sfield.Make(sfield.TypeBlob, 200), nil).EndObject().EndArray(), alice), ErrUnknown},
		"type of field, unsigned":      {append(blob(kindPayment), 0xc1), xrpl.ErrMalformed},
		"type of field, in the middle": {append(xrpl.Fields{0xc1, 0}, blob(kindPayment)...), xrpl.ErrMalformed},
	} {
		l := &xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: c.blob, Meta: rootOf(xrpl.Fields(nil).Open(sfield.AffectedNodes), alice.Account(), nil, nil, 1).EndArray()}}}
		if _, err := Verify(l, Pure{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", name, err, c.want)
		}
	}
}

// Any nested signatures and metadata are read without a panic.
func FuzzNested(f *testing.F) {
	f.Add([]byte{0xe0, 0x25, 0xe1}, []byte{0xf8, 0xf1})
	f.Add([]byte(xrpl.Fields(nil).UInt16(sfield.TransactionType, kindBatch).Open(sfield.BatchSigners).Open(sfield.BatchSigner).EndObject().EndArray()),
		metaOf(nil))
	f.Fuzz(func(t *testing.T, blob, meta []byte) {
		l := &xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: blob, Meta: meta}, {Blob: blob, Meta: meta}}}
		if s, err := readSigned(blob); err == nil {
			_, _ = s.nested(l, &l.Transactions[0], Pure{})
			if len(s.account) == len(xrpl.AccountID{}) {
				_ = s.owns(meta)
			}
		}
		_, _ = Verify(l, Pure{})
	})
}

package xrpl_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"dyno/services/ledger/xrpl"

	"pgregory.net/rapid"
)

type tree interface {
	Ledger(*xrpl.Ledger) (xrpl.Header, error)
}

// verdict is a tree's result for a ledger: its header, and the kind of error.
type verdict struct {
	header xrpl.Header
	kind   error
	text   string
}

func judge(t tree, l *xrpl.Ledger) (v verdict) {
	h, err := t.Ledger(l)
	v.header = h
	if err == nil {
		return v
	}
	v.text = err.Error()
	for _, kind := range []error{xrpl.ErrMalformed, xrpl.ErrIndex, xrpl.ErrHash, xrpl.ErrRoot} {
		if errors.Is(err, kind) {
			v.kind = kind
			return v
		}
	}
	v.kind = err
	return v
}

// lengths are those at which the prefix of a length changes its form, and some that are usual.
var lengths = []int{0, 1, 2, 120, 192, 193, 194, 800, 12480, 12481, 12482}

// drawn is a correct ledger: its transactions are random bytes, because the tree does not parse
// them.
func drawn(t *rapid.T, v *xrpl.Verifier) *xrpl.Ledger {
	l := &xrpl.Ledger{Index: rapid.Uint32Min(1).Draw(t, "index")}
	// Ids are hashes: only many transactions make a deep tree.
	n := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(200, 600)).Draw(t, "transactions")
	noise := rapid.Byte().Draw(t, "noise")
	for i := range n {
		blob := bytes.Repeat([]byte{noise}, 2)
		blob = append(blob, byte(i), byte(i>>8))
		var meta []byte
		if i < 8 {
			blob = append(blob, make([]byte, rapid.SampledFrom(lengths).Draw(t, "blob"))...)
			meta = bytes.Repeat([]byte{byte(i)}, rapid.SampledFrom(lengths).Draw(t, "meta"))
		}
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: blob, Meta: meta})
	}
	root, err := v.Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: l.Index, Drops: rapid.Uint64().Draw(t, "drops"), Transactions: root}
	l.Header, l.Hash = h.Append(nil), h.Hash()
	return l
}

// tamper changes a ledger, or leaves it alone.
func tamper(t *rapid.T, l *xrpl.Ledger) {
	at := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	flip := func(b []byte) {
		if len(b) > 0 {
			b[at(len(b), "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
		}
	}
	names := []string{"nothing", "header", "header, hash made to fit", "cut", "index", "no index", "hash", "no hash"}
	if len(l.Transactions) > 0 {
		names = append(names, "blob", "meta", "missing", "twice", "order", "empty blob", "huge meta", "swapped")
	}
	pick := func() *xrpl.Transaction { return &l.Transactions[at(len(l.Transactions), "which")] }
	switch rapid.SampledFrom(names).Draw(t, "tampered") {
	case "header":
		flip(l.Header)
	case "header, hash made to fit":
		flip(l.Header)
		h, err := xrpl.ParseHeader(l.Header)
		if err != nil {
			t.Fatal(err)
		}
		l.Hash, l.Index = h.Hash(), h.Index
	case "cut":
		l.Header = l.Header[:at(len(l.Header), "size")]
	case "index":
		l.Index++
	case "no index":
		l.Index = 0
	case "hash":
		flip(l.Hash[:])
	case "no hash":
		l.Hash = xrpl.Hash{}
	case "blob":
		flip(pick().Blob)
	case "meta":
		flip(pick().Meta)
	case "missing":
		i := at(len(l.Transactions), "which")
		l.Transactions = append(l.Transactions[:i:i], l.Transactions[i+1:]...)
	case "twice":
		l.Transactions = append(l.Transactions, *pick())
	case "order":
		i, j := at(len(l.Transactions), "one"), at(len(l.Transactions), "other")
		l.Transactions[i], l.Transactions[j] = l.Transactions[j], l.Transactions[i]
	case "empty blob":
		pick().Blob = nil
	case "huge meta":
		pick().Meta = make([]byte, xrpl.MaxVL+1)
	case "swapped":
		tx := pick()
		tx.Blob, tx.Meta = tx.Meta, tx.Blob
	}
}

// agree checks that both trees return the same result for a ledger.
func agree(t rapid.TB, sorted, other tree, l *xrpl.Ledger) (v verdict) {
	t.Helper()
	v = judge(sorted, l)
	if w := judge(other, l); v.header != w.header || v.kind != w.kind {
		t.Fatalf("sorted says %v %q, nodes %v %q", v.header, v.text, w.header, w.text)
	}
	return v
}

func TestTreesAgree(t *testing.T) {
	t.Parallel()
	sorted := xrpl.NewVerifier()
	rapid.Check(t, func(t *rapid.T) {
		l := drawn(t, sorted)
		if v := agree(t, sorted, nodeTree{}, l); v.kind != nil {
			t.Fatalf("a right ledger: %s", v.text)
		}
		tamper(t, l)
		agree(t, sorted, nodeTree{}, l)
	})
}

// The fullest accepted ledger, and one with a transaction more.
func TestTreesAgreeOnTheFullest(t *testing.T) {
	t.Parallel()
	sorted := xrpl.NewVerifier()
	l := &xrpl.Ledger{Index: 1}
	for i := range xrpl.MaxTransactions {
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: binary.BigEndian.AppendUint32(nil, uint32(i))})
	}
	root, err := sorted.Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: l.Index, Transactions: root}
	l.Header, l.Hash = h.Append(nil), h.Hash()
	if v := agree(t, sorted, nodeTree{}, l); v.kind != nil {
		t.Errorf("%d transactions: %s", len(l.Transactions), v.text)
	}
	l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: []byte("one more")})
	if v := agree(t, sorted, nodeTree{}, l); v.kind != xrpl.ErrMalformed {
		t.Errorf("%d transactions: %v", len(l.Transactions), v.text)
	}
}

// A ledger of three transactions, with one byte changed after the other.
func TestEveryByteCounts(t *testing.T) {
	sorted := xrpl.NewVerifier()
	l := &xrpl.Ledger{Index: 7}
	for i := range byte(3) {
		l.Transactions = append(l.Transactions, xrpl.Transaction{Blob: bytes.Repeat([]byte{i + 1}, 200), Meta: bytes.Repeat([]byte{i}, 300)})
	}
	root, err := sorted.Root(l.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	h := xrpl.Header{Index: l.Index, Transactions: root}
	l.Header, l.Hash = h.Append(nil), h.Hash()
	if v := agree(t, sorted, nodeTree{}, l); v.kind != nil {
		t.Fatal(v.text)
	}
	tx := l.Transactions[0]
	for what, b := range map[string][]byte{"header": l.Header, "blob": tx.Blob, "meta": tx.Meta} {
		for i := range b {
			b[i] ^= 0x40
			if v := agree(t, sorted, nodeTree{}, l); v.kind == nil {
				t.Errorf("byte %d of the %s has no effect", i, what)
			}
			b[i] ^= 0x40
		}
	}
}

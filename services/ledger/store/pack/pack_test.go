package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/storetest"
	"dyno/services/ledger/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ledgers is a Source.
type ledgers map[uint32]*xrpl.Ledger

func (s ledgers) Ledger(index uint32, into *xrpl.Ledger) error {
	l, ok := s[index]
	if !ok {
		return fmt.Errorf("ledger %d: %w", index, store.ErrMissing)
	}
	*into = *l
	return nil
}

func (s ledgers) Header(index uint32) (xrpl.Header, xrpl.Hash, error) {
	var l xrpl.Ledger
	if err := s.Ledger(index, &l); err != nil {
		return xrpl.Header{}, xrpl.Hash{}, err
	}
	h, err := xrpl.ParseHeader(l.Header)
	return h, h.Hash(), err
}

func source(chain []*xrpl.Ledger) ledgers {
	s := ledgers{}
	for _, l := range chain {
		s[l.Index] = l
	}
	return s
}

func packed(t testing.TB, chain []*xrpl.Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, source(chain), history.Range{From: chain[0].Index, To: chain[len(chain)-1].Index}, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// drain reads a pack to its end.
func drain(b []byte) (all []*xrpl.Ledger, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		ledgers, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, ledgers...)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{1, blockLedgers, 3*blockLedgers + 5} {
		chain := storetest.Chain(1, 1000, n, 3)
		s := open(t)
		u, err := Unpack(t.Context(), bytes.NewReader(packed(t, chain)), s, Options{})
		if err != nil || u.Ledgers != n || u.Transactions != 3*n || u.Word != "the author of the pack" || u.Head.Top != chain[n-1].Hash {
			t.Fatalf("%+v, %v", u, err)
		}
		report, err := s.Check(t.Context(), trust.L2, nil)
		if err != nil || !report.Clean() || report.Ledgers != n || report.Links != n-1 || len(report.Gaps) != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		if again := packed(t, chain); !bytes.Equal(again, packedFrom(t, s)) {
			t.Fatal("a pack of the unpacked ledgers differs from the first")
		}
	}
}

func packedFrom(t *testing.T, s *store.Store) []byte {
	t.Helper()
	r, err := s.Span(history.Range{})
	var b bytes.Buffer
	if err == nil {
		_, err = Write(t.Context(), &b, s, r, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEmptyLedgers(t *testing.T) {
	all, err := drain(packed(t, storetest.Chain(1, 5, 3, 0)))
	if err != nil || len(all) != 3 || all[0].Index != 7 {
		t.Fatal(all, err)
	}
}

// Every flipped bit is detected, and every missing or additional byte.
func TestDamageIsFound(t *testing.T) {
	good := packed(t, storetest.Chain(1, 5, 2, 1))
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := drain(bad); err == nil {
				t.Fatalf("bit %d of byte %d of %d was flipped without an error", bit, i, len(good))
			}
		}
		if _, err := drain(good[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off after %d of %d bytes: %v", i, len(good), err)
		}
	}
	if _, err := drain(append(bytes.Clone(good), 0)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a byte too much: %v", err)
	}
}

func TestNewerVersion(t *testing.T) {
	b := packed(t, storetest.Chain(1, 5, 1, 1))
	b[len(Magic)]++
	if _, err := drain(b); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Fatal(err)
	}
}

// forge packs ledgers with right checksums, whether they are true or not.
func forge(t *testing.T, head Head, chain []*xrpl.Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer w.encoder.Close()
	err = w.write(head.append(nil))
	for i := len(chain) - 1; i >= 0; i-- {
		err = errors.Join(err, w.add(chain[i]))
	}
	if err = errors.Join(err, w.close(head)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An attacker can fix the checksums of a changed ledger, but not its proof.
func TestTamperedPacksAreNotStored(t *testing.T) {
	const n, tampered = 100, 10
	for name, change := range map[string]func(l *xrpl.Ledger){
		"transaction": func(l *xrpl.Ledger) {
			l.Transactions[0].Blob = append(bytes.Clone(l.Transactions[0].Blob[:20]), l.Transactions[0].Blob[21:]...)
		},
		"metadata": func(l *xrpl.Ledger) { l.Transactions[1].Meta = append(bytes.Clone(l.Transactions[1].Meta), 0) },
		"one less": func(l *xrpl.Ledger) { l.Transactions = l.Transactions[1:] },
		"header":   func(l *xrpl.Ledger) { l.Header = bytes.Clone(l.Header); l.Header[100]++ },
	} {
		t.Run(name, func(t *testing.T) {
			chain := storetest.Chain(1, 1, n, 2)
			change(chain[tampered])
			s := open(t)
			u, err := Unpack(t.Context(), bytes.NewReader(forge(t, Head{history.Range{From: 1, To: n}, chain[n-1].Hash}, chain)), s, Options{})
			if err == nil || !strings.Contains(err.Error(), "tampered") {
				t.Fatalf("%+v, %v", u, err)
			}
			if want := fmt.Sprintf("%d-%d", n-blockLedgers+1, n); s.Stored().String() != want || u.Ledgers != blockLedgers {
				t.Fatalf("stored are %v (%d), want what is above: %s", s.Stored(), u.Ledgers, want)
			}
		})
	}
	t.Run("all of it", func(t *testing.T) {
		other := storetest.Chain(2, 1, 3, 2)
		u, err := Unpack(t.Context(), bytes.NewReader(forge(t, Head{history.Range{From: 1, To: 3}, xrpl.Hash{1}}, other)), open(t), Options{})
		if err == nil || u.Ledgers != 0 {
			t.Fatalf("%+v, %v", u, err)
		}
	})
}

func TestAnchors(t *testing.T) {
	chain := storetest.Chain(1, 100, 50, 1)
	other := storetest.Chain(2, 100, 50, 1)
	pack := packed(t, chain[10:40]) // 110 to 139
	top := chain[39]
	for name, test := range map[string]struct {
		stored []*xrpl.Ledger
		anchor Anchor
		word   string
		err    string
	}{
		"none":               {nil, Anchor{}, "the author of the pack", ""},
		"right":              {nil, Anchor{139, top.Hash}, "the anchor that you gave", ""},
		"wrong hash":         {nil, Anchor{139, other[39].Hash}, "", "the anchor says"},
		"wrong index":        {nil, Anchor{138, chain[38].Hash}, "", "the pack's top ledger is 139"},
		"from above":         {chain[40:], Anchor{}, "ledger 140, which was stored before", ""},
		"other above":        {other[40:], Anchor{}, "", "different histories"},
		"other below":        {other[:10], Anchor{}, "the author of the pack", "different histories"},
		"neighbours":         {append(chain[:10:10], chain[40:]...), Anchor{}, "ledger 140, which was stored before", ""},
		"there already":      {chain[20:30], Anchor{}, "the author of the pack", ""},
		"there, but another": {other[20:30], Anchor{}, "the author of the pack", "other bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if len(test.stored) > 0 {
				if err := s.Append(test.stored, store.Progress{From: 1, To: 1000, Level: "L1"}); err != nil {
					t.Fatal(err)
				}
			}
			u, err := Unpack(t.Context(), bytes.NewReader(pack), s, Options{Anchor: test.anchor})
			if u.Word != test.word || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("on the word of %q, %v", u.Word, err)
			}
			if len(test.stored) > 0 && s.Progress().To != 1000 {
				t.Fatalf("the progress of the sync is gone: %+v", s.Progress())
			}
		})
	}
}

// Real ledgers are signed; generated ones are not.
func TestSignatures(t *testing.T) {
	chain := storetest.Chain(1, 1, 1, 1)
	if _, err := Unpack(t.Context(), bytes.NewReader(packed(t, chain)), open(t), Options{Level: trust.L4}); !errors.Is(err, xrpl.ErrSignature) {
		t.Fatalf("unsigned: %v", err)
	}
	for _, l := range storetest.Real(t) {
		u, err := Unpack(t.Context(), bytes.NewReader(packed(t, []*xrpl.Ledger{l})), open(t), Options{Level: trust.L4, Anchor: Anchor{l.Index, l.Hash}})
		if err != nil || u.Ledgers != 1 {
			t.Fatalf("ledger %d: %+v, %v", l.Index, u, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	chain := storetest.Chain(1, 1, 3, 1)
	if _, err := Write(t.Context(), io.Discard, source(chain), history.Range{From: 1, To: 4}, nil); !errors.Is(err, store.ErrMissing) {
		t.Errorf("a gap: %v", err)
	}
	chain[1] = storetest.Chain(2, 2, 1, 1)[0]
	if _, err := Write(t.Context(), io.Discard, source(chain), history.Range{From: 1, To: 3}, nil); err == nil || !strings.Contains(err.Error(), "run check") {
		t.Errorf("not linked: %v", err)
	}
}

// A store's level is true for all of its ledgers.
func TestLevelOfTheStore(t *testing.T) {
	chain := storetest.Chain(1, 5, 3, 0) // without transactions, so no signature is missing
	pack := packed(t, chain[:2])
	for _, c := range []struct {
		before store.Progress // its level and sample
		level  trust.Level
		want   string
	}{
		{store.Progress{Level: "L4"}, trust.L2, "L2"},
		{store.Progress{Level: "L4"}, trust.L4, "L4"},
		{store.Progress{Level: "L4"}, trust.L0, "L4"},
		{store.Progress{Level: "L4", Sample: 10}, trust.L4, "L4 with the signatures of one ledger in 10"},
		{store.Progress{Level: "L4", Sample: 10}, trust.L2, "L2"},
		{store.Progress{Level: "L3"}, trust.L0, "L2"},
		{store.Progress{Level: "L3"}, trust.L4, "L2"},
		{store.Progress{Level: "L1"}, trust.L4, "L1"},
	} {
		s := open(t)
		c.before.From, c.before.To = 1, 1000
		if err := s.Append(chain[2:], c.before); err != nil {
			t.Fatal(err)
		}
		if _, err := Unpack(t.Context(), bytes.NewReader(pack), s, Options{Level: c.level}); err != nil {
			t.Fatal(err)
		}
		if p := s.Progress(); p.Proof() != c.want || p.To != 1000 {
			t.Errorf("%s and a pack at %v: %+v, want %s", c.before.Proof(), c.level, p, c.want)
		}
	}
}

func TestTooManyTransactions(t *testing.T) {
	header := storetest.Chain(1, 5, 1, 0)[0].Header
	for n, want := range map[int]error{xrpl.MaxTransactions: nil, xrpl.MaxTransactions + 1: ErrDamaged} {
		b := binary.AppendUvarint(bytes.Clone(header), uint64(n))
		b = append(b, make([]byte, 2*n)...) // transactions of no bytes
		if _, _, err := cutLedger(b); !errors.Is(err, want) {
			t.Errorf("%d transactions: %v", n, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(packed(f, storetest.Chain(1, 5, 2, 1)))
	f.Add(packed(f, storetest.Chain(1, 5, 1, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := drain(b)
		if err != nil {
			return
		}
		if len(all) == 0 {
			t.Fatal("a pack without ledgers")
		}
		for i, l := range all {
			if l.Index != all[0].Index-uint32(i) {
				t.Fatalf("ledger %d follows ledger %d", l.Index, all[0].Index)
			}
		}
	})
}

// A block contains foreign bytes, too: an attacker can compute its checksum.
func FuzzLedger(f *testing.F) {
	for _, l := range storetest.Chain(1, 5, 2, 2) {
		f.Add(appendLedger(nil, l))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, rest, err := cutLedger(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if again, _, err := cutLedger(appendLedger(nil, l)); err != nil || again.Hash != l.Hash || len(again.Transactions) != len(l.Transactions) {
			t.Fatalf("read again: %v, %d bytes follow", err, len(rest))
		}
	})
}

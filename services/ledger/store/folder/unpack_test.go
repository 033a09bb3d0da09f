package folder

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
	"dyno/services/ledger/xrpl/pack"
	"dyno/services/ledger/xrpl/xrpltest"
)

func packed(t testing.TB, chain []*xrpl.Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := pack.Write(t.Context(), &b, xrpltest.SourceOf(chain), history.Range{From: chain[0].Index, To: chain[len(chain)-1].Index}, nil); err != nil {
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

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{1, 64, 3*64 + 5} {
		chain := xrpltest.Chain(1, 1000, n, 3)
		s := open(t)
		u, err := Unpack(t.Context(), bytes.NewReader(packed(t, chain)), s, UnpackOptions{})
		if err != nil || u.Ledgers != n || u.Transactions != 3*n || u.Word != "the author of the pack" || u.Head.Top != chain[n-1].Hash {
			t.Fatalf("%+v, %v", u, err)
		}
		report, err := CheckStore(t.Context(), s, trust.L2, nil)
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
		_, err = pack.Write(t.Context(), &b, s, r, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// forge packs ledgers with right checksums, whether they are true or not.
func forge(t *testing.T, head pack.Head, chain []*xrpl.Ledger) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pack.NewWriter(&b, head)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		err = errors.Join(err, w.Add(chain[i]))
	}
	if err = errors.Join(err, w.Close()); err != nil {
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
			chain := xrpltest.Chain(1, 1, n, 2)
			change(chain[tampered])
			s := open(t)
			u, err := Unpack(t.Context(), bytes.NewReader(forge(t, pack.Head{Range: history.Range{From: 1, To: n}, Top: chain[n-1].Hash}, chain)), s, UnpackOptions{})
			if err == nil || !strings.Contains(err.Error(), "tampered") {
				t.Fatalf("%+v, %v", u, err)
			}
			if want := fmt.Sprintf("%d-%d", n-64+1, n); s.Stored().String() != want || u.Ledgers != 64 {
				t.Fatalf("stored are %v (%d), want what is above: %s", s.Stored(), u.Ledgers, want)
			}
		})
	}
	t.Run("all of it", func(t *testing.T) {
		other := xrpltest.Chain(2, 1, 3, 2)
		u, err := Unpack(t.Context(), bytes.NewReader(forge(t, pack.Head{Range: history.Range{From: 1, To: 3}, Top: xrpl.Hash{1}}, other)), open(t), UnpackOptions{})
		if err == nil || u.Ledgers != 0 {
			t.Fatalf("%+v, %v", u, err)
		}
	})
}

func TestAnchors(t *testing.T) {
	chain := xrpltest.Chain(1, 100, 50, 1)
	other := xrpltest.Chain(2, 100, 50, 1)
	whole := packed(t, chain[10:40]) // 110 to 139
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
			u, err := Unpack(t.Context(), bytes.NewReader(whole), s, UnpackOptions{Anchor: test.anchor})
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
	chain := xrpltest.Chain(1, 1, 1, 1)
	if _, err := Unpack(t.Context(), bytes.NewReader(packed(t, chain)), open(t), UnpackOptions{Level: trust.L4}); !errors.Is(err, signing.ErrSignature) {
		t.Fatalf("unsigned: %v", err)
	}
	for _, real := range xrpltest.Ledgers(t) {
		l := &real
		u, err := Unpack(t.Context(), bytes.NewReader(packed(t, []*xrpl.Ledger{l})), open(t), UnpackOptions{Level: trust.L4, Anchor: Anchor{l.Index, l.Hash}})
		if err != nil || u.Ledgers != 1 {
			t.Fatalf("ledger %d: %+v, %v", l.Index, u, err)
		}
	}
}

// A store's level is true for all of its ledgers.
func TestLevelOfTheStore(t *testing.T) {
	chain := xrpltest.Chain(1, 5, 3, 0) // without transactions, so no signature is missing
	whole := packed(t, chain[:2])
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
		if _, err := Unpack(t.Context(), bytes.NewReader(whole), s, UnpackOptions{Level: c.level}); err != nil {
			t.Fatal(err)
		}
		if p := s.Progress(); p.Proof() != c.want || p.To != 1000 {
			t.Errorf("%s and a pack at %v: %+v, want %s", c.before.Proof(), c.level, p, c.want)
		}
	}
}

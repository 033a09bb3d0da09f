package chain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newChain(t testing.TB, c Spec) *Chain {
	t.Helper()
	chain, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Error(err)
		}
	})
	return chain
}

func ledger(t testing.TB, c *Chain, index uint32) *xrpl.Ledger {
	t.Helper()
	l, err := c.Ledger(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestChainFits(t *testing.T) {
	const n = 6
	c := newChain(t, Spec{Ledgers: n})
	v := xrpl.NewVerifier()
	var below xrpl.Header
	var edwards, all, bytes int
	for i := range uint32(n) {
		l := ledger(t, c, DefaultFirst+i)
		h, err := v.Ledger(l)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && (h.Parent != below.Hash() || h.ParentClose != below.Close) {
			t.Errorf("ledger %d is not linked", l.Index)
		}
		if gap := h.Close - h.ParentClose; gap < 3 || gap > 4 || h.Drops != totalDrops-uint64(i+1)*DefaultTransactions*FeeDrops {
			t.Errorf("ledger %d: %d s after the one before, %d drops", l.Index, gap, h.Drops)
		}
		if n, err := signing.Verify(l, signing.Pure{}); n != DefaultTransactions || err != nil {
			t.Errorf("ledger %d: %d signatures, %v", l.Index, n, err)
		}
		if err := xrpl.SortByIndex(slices.Clone(l.Transactions)); err != nil {
			t.Errorf("ledger %d: %v", l.Index, err)
		}
		for _, tx := range l.Transactions {
			if all++; strings.Contains(string(tx.Blob), "\x73\x21\xed") {
				edwards++
			}
		}
		bytes += len(Render(l.Transactions, 1))
		below = h
	}
	if share := float64(edwards) / float64(all); share < 0.15 || share > 0.25 {
		t.Errorf("%.2f of the transactions are signed with Ed25519, not about 0.2", share)
	}
	if mean := bytes / n; mean < 180_000 || mean > 194_000 {
		t.Errorf("a ledger takes %d bytes of JSON, not about 187,000", mean)
	}
}

// The same configuration gives the same chain, whether its answers are in memory or in a file, and
// however long it is.
func TestChainIsItsNumbers(t *testing.T) {
	one := newChain(t, Spec{First: 7, Ledgers: 20, Transactions: 3, Seed: 5})
	two := newChain(t, Spec{First: 7, Ledgers: 10, Transactions: 3, Seed: 5, Memory: 1})
	other := newChain(t, Spec{First: 7, Ledgers: 10, Transactions: 3, Seed: 6})
	for i := range uint32(10) {
		a, b := ledger(t, one, 7+i), ledger(t, two, 7+i)
		if a.Hash != b.Hash || !slices.EqualFunc(a.Transactions, b.Transactions, sameTransaction) {
			t.Errorf("ledger %d differs", 7+i)
		}
		if a.Hash == ledger(t, other, 7+i).Hash {
			t.Errorf("ledger %d is the same with another seed", 7+i)
		}
	}
	if two.shelf.end == 0 || one.shelf.end != 0 {
		t.Errorf("%d and %d bytes in the files", two.shelf.end, one.shelf.end)
	}
	for range 10 {
		if _, err := two.Grow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ledger(t, one, 26).Hash != ledger(t, two, 26).Hash {
		t.Error("a chain that has grown differs from one made in one piece")
	}
}

func sameTransaction(a, b xrpl.Transaction) bool {
	return string(a.Blob) == string(b.Blob) && string(a.Meta) == string(b.Meta)
}

func TestDistinctTransactionsRepeat(t *testing.T) {
	c := newChain(t, Spec{Ledgers: 2500, Transactions: 2, Distinct: 3})
	if err := c.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := xrpl.NewVerifier()
	a, b := ledger(t, c, DefaultFirst+1), ledger(t, c, DefaultFirst+2497) // 2496 is 3 x 832
	if !slices.EqualFunc(a.Transactions, b.Transactions, sameTransaction) || a.Hash == b.Hash {
		t.Error("ledgers that are 2496 apart have other transactions, or the same hash")
	}
	var below xrpl.Hash
	for i := range uint32(2500) {
		l := ledger(t, c, DefaultFirst+i)
		h, err := v.Ledger(l)
		if err != nil || h.Parent != below {
			t.Fatalf("ledger %d: %v, parent %v", l.Index, err, h.Parent)
		}
		below = l.Hash
	}
	if _, err := c.Grow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, err := v.Ledger(ledger(t, c, DefaultFirst+2500)); err != nil || h.Parent != below {
		t.Errorf("grown: %v", err)
	}
}

// Forged ledgers have one wrong signature each, and are right otherwise.
func TestForgedChain(t *testing.T) {
	c := newChain(t, Spec{Ledgers: 40, Transactions: 4, Forged: 0.25})
	v := xrpl.NewVerifier()
	forged := 0
	var below xrpl.Hash
	for i := range uint32(40) {
		l := ledger(t, c, DefaultFirst+i)
		h, err := v.Ledger(l)
		if err != nil || h.Parent != below {
			t.Fatalf("ledger %d: %v", l.Index, err)
		}
		below = l.Hash
		e, _ := c.At(t.Context(), l.Index)
		_, err = signing.Verify(l, signing.Pure{})
		if errors.Is(err, signing.ErrSignature) != e.set.forged || err != nil && !e.set.forged {
			t.Errorf("ledger %d, forged %v: %v", l.Index, e.set.forged, err)
		}
		if e.set.forged {
			forged++
		}
	}
	if forged < 2 || forged > 20 {
		t.Errorf("%d of 40 are forged, not about 10", forged)
	}
}

func TestForkIsAChain(t *testing.T) {
	c := newChain(t, Spec{Ledgers: 5, Transactions: 1})
	if err := c.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range c.entries {
		h, _ := xrpl.ParseHeader(c.entries[i].header[:])
		f := c.forked(h, i)
		if f.Hash() != c.entries[i].fork || f.Hash() == c.entries[i].hash || i > 0 && f.Parent != c.entries[i-1].fork {
			t.Errorf("ledger %d of the fork does not fit", i)
		}
	}
}

func TestWaitsForLedgersBeingMade(t *testing.T) {
	c := newChain(t, Spec{Ledgers: 1000, Transactions: 200})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Ledger(ctx, DefaultFirst+999); !errors.Is(err, context.Canceled) {
		t.Errorf("the last of 200,000 signatures exists immediately: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ledger(t.Context(), DefaultFirst+999); err == nil {
		t.Error("a closed chain has a ledger that was not made")
	}
}

func TestSpecIsChecked(t *testing.T) {
	for _, c := range []Spec{{Ledgers: -1}, {Ledgers: 1 << 30}, {First: 1<<32 - 10}, {Transactions: 1 << 20}, {Distinct: -1},
		{Validators: 1000}, {Forged: 2}, {Memory: -1}, {Replay: "nowhere.jsonl"}} {
		if chain, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
			chain.Close()
		}
	}
}

func TestRenderingIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bin := rapid.SliceOfN(rapid.Byte(), 0, 300)
		txs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) xrpl.Transaction {
			return xrpl.Transaction{Blob: bin.Draw(t, "blob"), Meta: bin.Draw(t, "meta")}
		}), 0, 5).Draw(t, "transactions")
		b := Render(txs, 1)
		got, err := parseTransactions(b)
		if err != nil || !slices.EqualFunc(got, txs, sameTransaction) {
			t.Fatalf("%v: %q", err, b)
		}
		if b2 := Render(txs, 2); len(txs) > 0 && cap(b)+cap(b2) > len(b)+len(b2)+200 {
			t.Fatalf("%d and %d bytes are not used", cap(b)-len(b), cap(b2)-len(b2))
		}
	})
}

func TestReplayErrorsNameTheLine(t *testing.T) {
	good := `{"result":{"ledger":{"ledger_data":"` + strings.Repeat("01", 118) + `"}}}`
	for text, want := range map[string]string{
		"":                                  "no ledger",
		"{}":                                "line 1",
		good + "\n[]":                       "line 2",
		good + "\n" + good:                  "twice",
		`{"ledger":{"ledger_data":1}}`:      "line 1",
		`{"ledger":{"ledger_data":"0102"}}`: "line 1",
	} {
		file := filepath.Join(t.TempDir(), "ledgers.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Spec{Replay: file}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// A ledger read from a file can be served, and read again.
func FuzzReplay(f *testing.F) {
	header := strings.Repeat("01", 118)
	f.Add([]byte(`{"result":{"ledger":{"ledger_data":"` + header + `","transactions":[{"tx_blob":"0102","meta":"03"}]},"ledger_hash":"` + header[:64] + `"}}`))
	f.Add([]byte(`{"ledger":{"ledger_data":"` + header + `","transactions":[{"tx_blob":"01","meta_blob":""},{}]}}`))
	f.Add([]byte(`{"result":{}}`))
	f.Add([]byte(`{"ledger":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		_, txs, err := parseLedger(line)
		if err != nil {
			return
		}
		got, err := parseTransactions(Render(txs, 1))
		if err != nil || len(got) != len(txs) {
			t.Errorf("%d of %d transactions, %v", len(got), len(txs), err)
		}
	})
}

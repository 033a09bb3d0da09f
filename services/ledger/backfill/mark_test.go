package backfill

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// forgedWorld is a world whose chain contains wrong signatures.
func forgedWorld(t *testing.T, signatures func(*xrpl.Ledger) error) (w *world, forged map[uint32]bool) {
	t.Helper()
	chain, err := chain.New(chain.Spec{First: first, Ledgers: ledgers, Transactions: transactions, Seed: 3, Forged: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { chain.Close() })
	w, forged = &world{chain: chain, truth: map[uint32]*xrpl.Ledger{}}, map[uint32]bool{}
	for index := uint32(first); index <= last; index++ {
		if w.truth[index], err = chain.Ledger(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		if signatures(w.truth[index]) != nil {
			forged[index] = true
		}
	}
	if len(forged) == 0 || forged[last] {
		t.Fatalf("forged: %v", forged)
	}
	return w, forged
}

// A ledger that has the hash that the one above names and fails verification at L4 is passed on and
// marked. No server is at fault for it; a server whose ledger lacks that hash is, also when it has
// a wrong signature.
func TestMarks(t *testing.T) {
	t.Parallel()
	checker := signing.Pure{}
	w, forged := forgedWorld(t, func(l *xrpl.Ledger) error { _, err := signing.Verify(l, checker); return err })
	honest, liar := w.server(t, sim.Config{}), w.server(t, sim.Config{Faults: fault.Rates{fault.Signature: 0.5}})
	for name, servers := range map[string][]*sim.Sim{"alone": {honest}, "beside one that lies": {liar, honest}} {
		p := pool(t, servers...)
		var k keeper
		c := w.config(p, &k)
		c.Level, c.Signatures, c.Watch = trust.L4, checker, NewWatch()
		var mu sync.Mutex
		marked := map[uint32]bool{}
		c.Mark = func(index uint32, why error) error {
			mu.Lock()
			defer mu.Unlock()
			if marked[index] = true; !errors.Is(why, signing.ErrSignature) {
				t.Errorf("%s: ledger %d is marked for %v", name, index, why)
			}
			return nil
		}
		if err := Run(t.Context(), c, all); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		k.holds(t, w, all)
		if fmt.Sprint(marked) != fmt.Sprint(forged) || c.Watch.Marked.Load() != uint64(len(forged)) {
			t.Errorf("%s: marked %v, want %v", name, marked, forged)
		}
		guilty := blames(p)
		if guilty[honest.URL()] > 0 || len(servers) == 2 && guilty[liar.URL()] == 0 {
			t.Errorf("%s: faults: %v", name, guilty)
		}
	}
}

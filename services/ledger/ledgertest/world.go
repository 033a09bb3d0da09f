package ledgertest

import (
	"testing"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/xrpl/history"
)

// world is a chain, an honest server of it, and what is true.
type world struct {
	chain  *chain.Chain
	honest *sim.Sim
	truth  contents
}

// made is the suite's chain.
var made = chain.Spec{First: first, Ledgers: ledgers, Transactions: transactions, Seed: seed}

func newWorld(t testing.TB) *world {
	c, err := chain.New(made)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{chain: c}
	w.honest = w.server(t, sim.Config{})
	w.truth = readChain(t, w.honest.URL(), first, last)
	return w
}

// server starts another server of the same chain.
func (w *world) server(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	c.Chain = w.chain
	return Serve(t, c)
}

// forged starts a server of a chain with wrong signatures in it, which is linked to them: only L4
// sees that.
func forged(t testing.TB) *sim.Sim {
	c := sim.Config{Spec: made}
	c.Forged = 0.1
	return Serve(t, c)
}

// Serve starts a simulated server, which ends with the test.
func Serve(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	s, err := sim.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// has is a set of ledgers that a server has.
func has(t testing.TB, text string) history.Set {
	t.Helper()
	s, err := history.ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

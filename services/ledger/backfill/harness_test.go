package backfill

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"dyno/parts/assembly"
	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/servers"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // tests wait for rate limits more than they compute
	goleak.VerifyTestMain(m)
}

const (
	first        = 1000
	ledgers      = 24
	last         = first + ledgers - 1
	transactions = 3
)

// all is the whole of the chain.
var all = history.Range{From: first, To: last}

// world is a small chain with its true ledgers.
type world struct {
	chain *chain.Chain
	truth map[uint32]*xrpl.Ledger
}

func newWorld(t testing.TB) *world {
	t.Helper()
	chain, err := chain.New(chain.Spec{First: first, Ledgers: ledgers, Transactions: transactions, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chain.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{chain: chain, truth: map[uint32]*xrpl.Ledger{}}
	for index := uint32(first); index <= last; index++ {
		if w.truth[index], err = chain.Ledger(t.Context(), index); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// server starts a server of the chain.
func (w *world) server(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	c.Chain = w.chain
	return ledgertest.Serve(t, c)
}

// trusted is a ledger of the chain as an anchor.
func (w *world) trusted(index uint32) Trusted { return Trusted{index, w.truth[index].Hash} }

// pool opens servers. The first is asked first.
func pool(t testing.TB, sims ...*sim.Sim) *servers.Pool {
	t.Helper()
	var c servers.PoolConfig
	for _, s := range sims {
		server, err := servers.Open(t.Context(), servers.Config{URL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		c.Servers = append(c.Servers, server)
	}
	p := servers.NewPool(c)
	t.Cleanup(p.Close)
	if err := p.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// keeper is a Sink that keeps ledgers for a while, as a store with a slow disk does. It checks that
// their memory stays unchanged until it releases them, and overwrites the memory before that, so
// that a later use would be noticed.
type keeper struct {
	hold int // maximum of ledgers that are not released yet

	mu    sync.Mutex
	kept  []kept
	got   map[uint32]*xrpl.Ledger
	order []uint32
	wrong []string
}

type kept struct {
	ledger, copy *xrpl.Ledger
	release      func()
}

func (k *keeper) Put(_ context.Context, l *xrpl.Ledger, release func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.got == nil {
		k.got = map[uint32]*xrpl.Ledger{}
	}
	c := clone(l)
	k.got[l.Index] = c
	k.order = append(k.order, l.Index)
	k.kept = append(k.kept, kept{l, c, release})
	for len(k.kept) > k.hold {
		k.releaseOldest()
	}
	return nil
}

// releaseOldest releases the oldest ledger.
func (k *keeper) releaseOldest() {
	o := k.kept[0]
	k.kept = k.kept[1:]
	if err := same(o.ledger, o.copy); err != nil {
		k.wrong = append(k.wrong, fmt.Sprintf("ledger %d has changed since it was given: %v", o.copy.Index, err))
	}
	poison(o.ledger)
	o.release()
}

func poison(l *xrpl.Ledger) {
	fill := func(b []byte) {
		for i := range b {
			b[i] = 0xAA
		}
	}
	fill(l.Header)
	for _, tx := range l.Transactions {
		fill(tx.Blob)
		fill(tx.Meta)
	}
	l.Index, l.Hash = 0xAAAAAAAA, xrpl.Hash{}
}

// holds checks that the keeper got exactly these ledgers, once each, from the top down, and
// unchanged.
func (k *keeper) holds(t testing.TB, w *world, want ...history.Range) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 {
		k.releaseOldest()
	}
	for _, wrong := range k.wrong {
		t.Error(wrong)
	}
	var indexes []uint32
	for _, r := range slices.Backward(want) {
		for index := r.To; index >= r.From; index-- {
			indexes = append(indexes, index)
		}
	}
	if !slices.Equal(k.order, indexes) {
		t.Fatalf("the sink got %v, want %v", k.order, indexes)
	}
	for index, l := range k.got {
		if err := same(l, w.truth[index]); err != nil {
			t.Errorf("ledger %d is not the true one: %v", index, err)
		}
	}
}

func clone(l *xrpl.Ledger) *xrpl.Ledger {
	c := &xrpl.Ledger{Index: l.Index, Hash: l.Hash, Header: bytes.Clone(l.Header)}
	for _, tx := range l.Transactions {
		c.Transactions = append(c.Transactions, xrpl.Transaction{Blob: bytes.Clone(tx.Blob), Meta: bytes.Clone(tx.Meta)})
	}
	return c
}

// same returns an error that says in what two ledgers differ.
func same(a, b *xrpl.Ledger) error {
	switch {
	case a.Index != b.Index:
		return fmt.Errorf("index %d, not %d", a.Index, b.Index)
	case a.Hash != b.Hash:
		return fmt.Errorf("hash %v, not %v", a.Hash, b.Hash)
	case !bytes.Equal(a.Header, b.Header):
		return fmt.Errorf("header %x, not %x", a.Header, b.Header)
	case len(a.Transactions) != len(b.Transactions):
		return fmt.Errorf("%d transactions, not %d", len(a.Transactions), len(b.Transactions))
	}
	for i, tx := range a.Transactions {
		if !bytes.Equal(tx.Blob, b.Transactions[i].Blob) || !bytes.Equal(tx.Meta, b.Transactions[i].Meta) {
			return fmt.Errorf("transaction %d is another", i)
		}
	}
	return nil
}

// blames is the number of faults recorded per server.
func blames(p *servers.Pool) map[string]int {
	out := map[string]int{}
	for _, s := range p.Report() {
		for _, count := range s.Faults {
			out[s.Server] += count
		}
	}
	return out
}

// config is a backfill of the chain, proved from its top.
func (w *world) config(p *servers.Pool, s Sink) Config {
	c := assembly.Defaults[Config]()
	c.Servers, c.Sink, c.Level, c.Trusted, c.Fetches, c.Verifiers = p, s, trust.L2, w.trusted(last), 4, 2
	return c
}

package sim_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/tip"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// linked fetches from a server and checks every ledger against the one above it and the one stored
// below.
type linked struct {
	server *servers.Server

	mu     sync.Mutex
	top    uint32
	hashes map[uint32]xrpl.Hash
	grown  chan uint32 // the top after each fetch; large enough for all
}

func (l *linked) Top() uint32 { l.mu.Lock(); defer l.mu.Unlock(); return l.top }

func (l *linked) Fetch(ctx context.Context, r history.Range, top xrpl.Hash) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, want := xrpl.NewVerifier(), top
	for index := r.To; index >= r.From; index-- {
		var a response.Answer
		if err := l.server.Ledger(ctx, index, &a); err != nil {
			return err
		}
		h, err := v.Ledger(&a.Ledger)
		if err != nil {
			return err
		}
		if h.Hash() != want || h.Index != index {
			return fmt.Errorf("%w: ledger %d is %v, not %v", tip.ErrStop, index, h.Hash(), want)
		}
		l.hashes[index], want = want, h.Parent
	}
	if below, ok := l.hashes[r.From-1]; ok && below != want {
		return fmt.Errorf("%w: ledger %d does not continue what is stored", tip.ErrStop, r.From)
	}
	l.top = r.To
	l.grown <- r.To
	return nil
}

// The follower keeps up with a growing chain, by the reports of two servers and by validations of
// its validators.
func TestFollowsSimulator(t *testing.T) {
	for _, quorum := range []bool{false, true} {
		t.Run(fmt.Sprintf("quorum=%t", quorum), func(t *testing.T) { followSimulator(t, quorum) })
	}
}

func followSimulator(t *testing.T, quorum bool) {
	const growth = 20
	a := serveChain(t, sim.Config{Spec: chain.Spec{Ledgers: 30, Transactions: 3, First: 1000}})
	b := serveChain(t, sim.Config{Chain: a.Chain()})
	c := tip.Config{First: 1010}
	var client *servers.Server
	var err error
	for _, s := range []*sim.Sim{a, b} {
		if client, err = servers.Open(t.Context(), servers.Config{URL: s.URL()}); err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		c.Servers = append(c.Servers, client)
	}
	if quorum {
		unl, err := trust.ParseValidators(a.Chain().UNL(), hex.EncodeToString(a.Chain().Publisher()))
		if err != nil {
			t.Fatal(err)
		}
		if c.Quorum, err = trust.NewQuorum(unl); err != nil {
			t.Fatal(err)
		}
	}
	l := &linked{server: client, hashes: map[uint32]xrpl.Hash{}, grown: make(chan uint32, growth+2)}
	c.Top, c.Fetch = l.Top, l.Fetch
	f, err := tip.NewFollower(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	for connected := 0; connected < 2; runtime.Gosched() {
		connected = 0
		for _, server := range f.Status().Servers {
			if server.Connected {
				connected++
			}
		}
	}
	for range growth { // each ledger closes when the last one is stored, so that no machine is too slow
		want, err := a.Chain().Grow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for at := uint32(0); at < want; {
			select {
			case at = <-l.grown:
			case err := <-ended:
				t.Fatalf("it ended at %d: %v", at, err)
			}
		}
	}
	if st := f.Status(); !quorum && (!st.Servers[0].Connected || !st.Servers[1].Connected) {
		t.Errorf("one server alone was believed: %+v", st)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for index := uint32(1010); index < 1030+growth; index++ {
		if _, ok := l.hashes[index]; !ok {
			t.Errorf("ledger %d was left out", index)
		}
	}
}

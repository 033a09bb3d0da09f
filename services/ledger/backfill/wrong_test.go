package backfill

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// lies are the ways in which an answer is wrong, with the levels that detect each.
var lies = map[fault.Kind][]trust.Level{
	fault.Empty:     {trust.L1, trust.L2, trust.L4},
	fault.Partial:   {trust.L1, trust.L2, trust.L4},
	fault.Flip:      {trust.L1, trust.L2, trust.L4},
	fault.Other:     {trust.L0, trust.L1, trust.L2, trust.L4},
	fault.Parent:    {trust.L2, trust.L4},
	fault.Fork:      {trust.L2, trust.L4},
	fault.Signature: {trust.L2, trust.L4},
}

// heard records the calls of Config.Wrong.
type heard struct {
	mu      sync.Mutex
	servers map[string]int
	reasons []error
	bare    int // calls without an answer
}

func (h *heard) wrong(server string, a *response.Answer, reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.servers == nil {
		h.servers = map[string]int{}
	}
	h.servers[server]++
	h.reasons = append(h.reasons, reason)
	if a == nil || len(a.Header) != xrpl.HeaderSize {
		h.bare++
	}
}

// One of two servers gives false answers to every request: none reaches the Sink, and no other
// server gets a fault.
func TestLiesNeverReachTheSink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	honest := w.server(t, sim.Config{})
	for kind, seen := range lies {
		for _, level := range seen {
			t.Run(fmt.Sprintf("%s at %v", kind, level), func(t *testing.T) {
				t.Parallel()
				liar := w.server(t, sim.Config{Faults: fault.Rates{kind: 1}})
				p := pool(t, liar, honest) // the liar first
				k, h := keeper{hold: 2}, heard{}
				c := w.config(p, &k)
				c.Level, c.Wrong, c.Watch, c.Signatures = level, h.wrong, NewWatch(), signing.Checkers()["pure"]
				gap := history.Range{From: last - 5, To: last}
				if err := Run(t.Context(), c, gap); err != nil {
					t.Fatal(err)
				}
				k.holds(t, w, gap)
				sent, n := liar.Injected().Faults[kind].Sent, c.Watch.Wrong.Load()
				if n == 0 || int64(n) > sent {
					t.Errorf("%d answers are reported wrong; the liar gave %d", n, sent)
				}
				if guilty := blames(p); len(guilty) != 1 || guilty[liar.URL()] != int(n) {
					t.Errorf("faults: %v, want %s for all %d", guilty, liar.URL(), n)
				}
				if len(h.servers) != 1 || h.servers[liar.URL()] != int(n) || h.bare > 0 {
					t.Errorf("reported: %v, %d without the answer, want %s for all %d", h.servers, h.bare, liar.URL(), n)
				}
			})
		}
	}
}

// A server that gives 30% false answers costs one more answer for each false one and no other,
// alone and beside a good server.
func TestLiesCostOneAnswerEach(t *testing.T) {
	t.Parallel()
	chain, err := chain.New(chain.Spec{First: first, Ledgers: 300, Transactions: transactions, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { chain.Close() })
	gap := history.Range{From: first, To: first + 299}
	top, err := chain.Ledger(t.Context(), gap.To)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{chain: chain, truth: map[uint32]*xrpl.Ledger{last: top}}
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone %v", alone), func(t *testing.T) {
			t.Parallel()
			// anchor_test.go tests false answers for the top.
			liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Flip: 0.1, fault.Partial: 0.1, fault.Other: 0.1}})
			sims := []*sim.Sim{liar}
			if !alone {
				sims = append(sims, w.server(t, sim.Config{}))
			}
			p := pool(t, sims...)
			var k keeper
			c := w.config(p, &k)
			c.Trusted, c.Watch, c.Timeout, c.Attempts = Trusted{gap.To, top.Hash}, NewWatch(), 5*time.Minute, 1000
			if err := Run(t.Context(), c, gap); err != nil {
				t.Fatal(err)
			}
			asked := -len(sims) // without server_info
			for _, s := range p.Report() {
				asked += int(s.Requests)
			}
			n := int(c.Watch.Wrong.Load())
			if len(k.order) != gap.Len() || n == 0 || asked != gap.Len()+n {
				t.Errorf("%d answers for %d ledgers, %d of them wrong", asked, len(k.order), n)
			}
			if most := float64(gap.Len()) / 0.7 * 1.1; float64(asked) > most {
				t.Errorf("%d answers, want %.0f at most", asked, most)
			}
		})
	}
}

// A fork is consistent in itself: an answer from it is wrong because the ledger above says so.
func TestForkIsBlamedAsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Fork: 1}})
	var h heard
	c := w.config(pool(t, liar, w.server(t, sim.Config{})), &keeper{})
	c.Wrong = h.wrong
	if err := Run(t.Context(), c, history.Range{From: last - 3, To: last}); err != nil {
		t.Fatal(err)
	}
	for _, reason := range h.reasons {
		if !errors.Is(reason, ErrFork) {
			t.Errorf("%v", reason)
		}
	}
	if len(h.reasons) == 0 {
		t.Error("the fork was not noticed")
	}
}

// When all servers are on another fork, no ledger can be proved.
func TestAllLie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.server(t, sim.Config{Faults: fault.Rates{fault.Fork: 1}}), w.server(t, sim.Config{Faults: fault.Rates{fault.Parent: 1}})
	p := pool(t, a, b)
	var k keeper
	c := w.config(p, &k)
	c.Attempts = 4
	err := Run(t.Context(), c, all)
	var m *Missing
	if !errors.As(err, &m) || m.Index != last || m.Gap != all || !errors.Is(err, ErrFork) {
		t.Errorf("%v", err)
	}
	k.holds(t, w)
	if guilty := blames(p); guilty[a.URL()] == 0 || guilty[b.URL()] == 0 {
		t.Errorf("faults: %v", guilty)
	}
}

// Without an anchor the first ledger of a range is trusted as sent; the ledgers below are linked to
// it nevertheless.
func TestLinksWithoutAnchor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Parent: 1}, Complete: history.Set{{From: first, To: last - 1}}})
	p := pool(t, liar, w.server(t, sim.Config{}))
	var k keeper
	c := w.config(p, &k)
	c.Trusted = Trusted{}
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, all)
	if guilty := blames(p); len(guilty) != 1 || guilty[liar.URL()] == 0 {
		t.Errorf("faults: %v", guilty)
	}
}

// lacking is the set of a server that reports that it lacks some ledgers.
func lacking(indexes ...uint32) history.Set {
	var s history.Set
	next := uint32(first)
	for _, index := range indexes {
		s = s.With(history.Range{From: next, To: index - 1})
		next = index + 1
	}
	return s.With(history.Range{From: next, To: last})
}

// missing returns the *Missing in an error, by index.
func missing(err error) map[uint32]*Missing {
	out := map[uint32]*Missing{}
	var walk func(error)
	walk = func(err error) {
		if m, ok := err.(*Missing); ok {
			out[m.Index] = m
			return
		}
		switch e := err.(type) {
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				walk(err)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	return out
}

func TestLedgerThatNoServerHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const high, low = last - 4, first + 7
	p := pool(t, w.server(t, sim.Config{Complete: lacking(low, high)}))
	t.Run("L2", func(t *testing.T) { // the ledgers below cannot be proved
		t.Parallel()
		var k keeper
		c := w.config(p, &k)
		c.Attempts = 1
		err := Run(t.Context(), c, all)
		m := missing(err)
		if len(m) != 1 || m[high] == nil || m[high].Gap != (history.Range{From: first, To: high}) {
			t.Errorf("%v: %+v", err, m[high])
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("ledger %d could not be fetched", high)) {
			t.Errorf("%v", err)
		}
		k.holds(t, w, history.Range{From: high + 1, To: last})
	})
	for _, level := range []trust.Level{trust.L0, trust.L1} {
		t.Run(fmt.Sprint(level), func(t *testing.T) { // the rest arrives
			t.Parallel()
			var k keeper
			c := w.config(p, &k)
			c.Level, c.Attempts = level, 1
			m := missing(Run(t.Context(), c, all))
			for _, index := range []uint32{low, high} {
				if m[index] == nil || m[index].Gap != (history.Range{From: index, To: index}) {
					t.Errorf("ledger %d: %+v", index, m[index])
				}
			}
			if len(m) != 2 {
				t.Errorf("missing: %v", m)
			}
			k.holds(t, w, lacking(low, high)...)
		})
	}
	t.Run("another has it", func(t *testing.T) {
		t.Parallel()
		var k keeper
		c := w.config(pool(t, w.server(t, sim.Config{Complete: lacking(low, high)}), w.server(t, sim.Config{Complete: history.Set{{From: first, To: high}}})), &k)
		if err := Run(t.Context(), c, all); err != nil {
			t.Fatal(err)
		}
		k.holds(t, w, all)
	})
}

// No server sends right answers: the run ends, however many attempts a ledger may have, and says so
// once.
func TestStallTimeoutEndsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for kind, says := range map[fault.Kind]string{fault.Error: "no right answer from any server", fault.Partial: xrpl.ErrRoot.Error()} {
		for _, level := range []trust.Level{trust.L1, trust.L2} {
			t.Run(fmt.Sprintf("%s at %v", kind, level), func(t *testing.T) {
				t.Parallel()
				var k keeper
				p := pool(t, w.server(t, sim.Config{Faults: fault.Rates{kind: 1}}))
				c := w.config(p, &k)
				c.Level, c.Attempts, c.StallTimeout = level, 1<<30, 100*time.Millisecond
				err := Run(t.Context(), c, all)
				for kind == fault.Partial && len(blames(p)) == 0 { // a busy machine may not prove an answer wrong in time
					c.StallTimeout *= 2
					err = Run(t.Context(), c, all)
				}
				if m := missing(err); len(m) != 1 || m[last] == nil || m[last].Gap != all || !strings.Contains(err.Error(), says) {
					t.Errorf("%d missing, %.300v", len(m), err)
				}
				k.holds(t, w)
			})
		}
	}
}

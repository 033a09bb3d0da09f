package backfill

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl/history"
)

// When all servers agree on the top and contradict the trusted hash, the run soon reports that, and
// records no fault.
func TestWrongAnchorIsNoServersFault(t *testing.T) {
	w := newWorld(t)
	for _, servers := range []int{1, 2, 3, 7} {
		for _, above := range []uint32{0, 2} {
			var sims []*sim.Sim
			for range servers {
				sims = append(sims, w.server(t, sim.Config{}))
			}
			p := pool(t, sims...)
			var k keeper
			c := w.config(p, &k)
			c.Trusted.Hash, c.Watch = w.truth[first].Hash, NewWatch()
			err := Run(t.Context(), c, history.Range{From: first, To: last - above})
			var d *AnchorRejected
			if !errors.As(err, &d) || d.Index != last || d.Trusted != w.truth[first].Hash || d.Reported != w.truth[last].Hash {
				t.Fatalf("%v", err)
			}
			if d.Servers < 1 || d.Servers > min(servers, doubtful) || servers <= 1 && d.Servers != 1 {
				t.Errorf("%d of %d servers said it", d.Servers, servers)
			}
			for _, says := range []string{"by the anchor", "servers that were asked say", d.Trusted.String(), d.Reported.String()} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v: want %s", err, says)
				}
			}
			if guilty := blames(p); len(guilty) > 0 || c.Watch.Wrong.Load() > 0 {
				t.Errorf("faults: %v", guilty)
			}
			if n := c.Watch.Refetched.Load(); n > doubtful {
				t.Errorf("%d tries", n)
			}
			k.holds(t, w)
		}
	}
}

// A server with a false top gets its fault recorded as soon as another server sends the trusted
// hash.
func TestRightAnchorConvictsLiars(t *testing.T) {
	w := newWorld(t)
	var held atomic.Pointer[servers.Member] // the honest server's one connection, held so that the liar is asked first
	liar := before(t, w.server(t, sim.Config{Faults: fault.Rates{fault.Fork: 1}}), func(http.ResponseWriter, *http.Request) bool {
		if m := held.Load(); m != nil {
			m.Done(0, 0, nil)
		}
		return false
	})
	honest, err := servers.Open(t.Context(), servers.Config{URL: w.server(t, sim.Config{}).URL(), InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { honest.Close() })
	p := served(t, liar, honest)
	m, err := p.AcquireOf(t.Context(), honest, last)
	if err != nil {
		t.Fatal(err)
	}
	held.Store(m)
	var k keeper
	var h heard
	c := w.config(p, &k)
	// The liar must not count as slow, too.
	c.Wrong, c.Watch, c.Fetches, c.Timeout = h.wrong, NewWatch(), 1, 5*time.Minute
	top := history.Range{From: last, To: last}
	if err := Run(t.Context(), c, top); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, top)
	n := int(c.Watch.Wrong.Load())
	if guilty := blames(p); n != 1 || len(guilty) != 1 || guilty[liar.Name()] != 1 || h.servers[liar.Name()] != 1 || h.bare > 0 {
		t.Errorf("%d wrong, faults: %v, reported %v", n, guilty, h.servers)
	}
}

// A single server that is sometimes wrong about the top is asked again, and each wrong answer is
// recorded; one that always is wrong ends the run after a bounded number of answers.
func TestLoneServerIsAskedForTheTopAgain(t *testing.T) {
	w := newWorld(t)
	again := 0
	for seed := range uint64(10) {
		liar := w.server(t, sim.Config{FaultSeed: 1 + seed, Faults: fault.Rates{fault.Fork: 0.3}})
		p := pool(t, liar)
		var k keeper
		c := w.config(p, &k)
		c.Fetches, c.Timeout = 1, 5*time.Minute
		top := history.Range{From: last, To: last}
		if err := Run(t.Context(), c, top); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		k.holds(t, w, top)
		sent := int(liar.Injected().Faults[fault.Fork].Sent)
		if blamed := blames(p)[liar.URL()]; blamed != sent {
			t.Errorf("seed %d: faults recorded for %d of %d wrong answers", seed, blamed, sent)
		}
		again += sent
	}
	if again == 0 {
		t.Error("no server was ever wrong")
	}
	persistent := w.server(t, sim.Config{Faults: fault.Rates{fault.Fork: 1}})
	c := w.config(pool(t, persistent), &keeper{})
	c.Fetches = 1
	var d *AnchorRejected
	if err := Run(t.Context(), c, all); !errors.As(err, &d) || d.Servers != 1 {
		t.Errorf("%v", err)
	}
	if n := persistent.Injected().Faults[fault.Fork].Ledgers[last]; n != doubtful {
		t.Errorf("asked for the top %d times, want %d", n, doubtful)
	}
}

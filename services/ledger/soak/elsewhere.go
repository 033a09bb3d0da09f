package soak

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
)

// failing is the share of requests that fail at one of two servers.
const failing = 0.1

// Elsewhere lets a program sync from two servers, one of which closes connections at random, and
// returns how long after each failure another request for the same ledger was answered. Every
// failed ledger must be answered, and every ledger stored.
func Elsewhere(t testing.TB, p Program, ledgers int, seed uint64) []time.Duration {
	t.Helper()
	const first = 70_000
	last := uint32(first + ledgers - 1)
	honest := server(t, sim.Config{Chain: makeChain(t, chain.Spec{First: first, Ledgers: ledgers, Transactions: 3, Seed: seed})})
	w := witness{failed: map[uint32]time.Time{}, done: map[uint32]bool{}}
	good, bad := w.front(t, honest.URL()), w.front(t, honest.URL())
	dice := rand.New(rand.NewPCG(seed, 1))
	w.relays[1].Decide(func(a ledgertest.Ask) ledgertest.Verdict {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !a.Whole || dice.Float64() >= failing {
			return ledgertest.Pass
		}
		if _, again := w.failed[a.Index]; !again && !w.done[a.Index] {
			w.failed[a.Index] = time.Now()
		}
		return ledgertest.Cut
	})
	dir := filepath.Join(t.TempDir(), "history")
	process := p.sync(t, dir, "--server", good.URL, "--server", bad.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last))
	if code := process.Wait(t); code != 0 {
		t.Fatalf("seed %d: it exits with %d: %s", seed, code, process.Stderr.String())
	}
	ledgertest.ReadTruth(t, honest.URL(), first, last).Holds(t, p.Start, dir)
	good.Close() // waits for its handlers, which record answers
	bad.Close()
	w.look()
	if len(w.failed) > 0 {
		t.Fatalf("seed %d: %d ledgers that failed at one server were never answered", seed, len(w.failed))
	}
	return w.took
}

// witness records when requests for a ledger fail, and when one is answered.
type witness struct {
	relays []*ledgertest.Relay

	mu     sync.Mutex
	failed map[uint32]time.Time // without an answer since
	done   map[uint32]bool      // answered by either: a failure afterwards was of a request by its hash
	took   []time.Duration
}

// front is a relay before a server, which reports its answers.
func (w *witness) front(t testing.TB, behind string) *httptest.Server {
	r := ledgertest.NewRelay(t, behind)
	w.relays = append(w.relays, r)
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		r.ServeHTTP(out, req) // panics when it closes the connection
		w.look()
	}))
	t.Cleanup(web.Close)
	return web
}

func (w *witness) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.relays {
		for index := range r.Traffic().Answered {
			w.done[index] = true
			if at, ok := w.failed[index]; ok {
				w.took = append(w.took, time.Since(at))
				delete(w.failed, index)
			}
		}
	}
}

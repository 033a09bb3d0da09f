package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/tip"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Requests for the top's hash count against the server's budget.
func TestHashRequestsAreWithinBudgets(t *testing.T) {
	a := serveChain(t, sim.Config{})
	b := serveChain(t, sim.Config{Chain: a.Chain()})
	w := open(t, a.URL(), b.URL())
	got, err := w.ByServers(t.Context(), last)
	if err != nil || got.Hash != truth(t, a, last).Hash || got.Votes != 2 || got.Of != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, s := range w.Pool.Report() {
		if s.Requests != 1 || s.Good != 1 || s.Bytes == 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A server's Retry-After is respected for these requests too, and does not delay the other servers'
// answers.
func TestHashRequestsRespectRetryAfter(t *testing.T) {
	t.Parallel()
	honest := serveChain(t, sim.Config{})
	var asked atomic.Int64
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "300")
		http.Error(w, "Server is overloaded", http.StatusServiceUnavailable)
	}))
	defer away.Close()
	w := open(t, honest.URL(), away.URL, serveChain(t, sim.Config{Chain: honest.Chain()}).URL())
	if err := w.Pool.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := asked.Load()
	if got, err := w.ByServers(t.Context(), last); err != nil || got.Hash != truth(t, honest, last).Hash {
		t.Fatalf("%v, %v", got, err)
	}
	if before == 0 || asked.Load() != before {
		t.Errorf("asked %d times, then %d", before, asked.Load())
	}
}

// A header that does not fit its hash, or of another ledger, is recorded as a fault, and the answer
// is kept.
func TestWrongHeaderIsAFault(t *testing.T) {
	t.Parallel()
	honest := serveChain(t, sim.Config{})
	for want, lie := range map[error]map[string]any{
		xrpl.ErrIndex: {"ledger_index": last - 1},
		xrpl.ErrHash:  {},
	} {
		liar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var q struct {
				Method string           `json:"method"`
				Params []map[string]any `json:"params"`
			}
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			for key, value := range lie {
				q.Params[0][key] = value
			}
			var a map[string]any
			ask(t, honest.URL(), q.Method, q.Params[0], &a)
			if want == xrpl.ErrHash {
				a["ledger_hash"] = strings.Repeat("AB", 32)
			}
			json.NewEncoder(w).Encode(map[string]any{"result": a})
		}))
		w := open(t, liar.URL)
		if _, err := w.ByServers(t.Context(), last); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		s := w.stats()[liar.URL]
		if n := s.Faults[want.Error()]; n == 0 || uint64(n) != s.Requests || uint64(len(w.wrong)) != s.Requests {
			t.Errorf("%v: %+v", want, s)
		}
		if len(w.wrong) == 0 || !errors.Is(w.wrong[0], want) {
			t.Errorf("passed on: %v", w.wrong)
		}
		liar.Close()
	}
}

// A server that answered once and is silent now still counts: the one that disagrees with it is no
// majority.
func TestEarlierVoterStillCounts(t *testing.T) {
	t.Parallel()
	honest := serveChain(t, sim.Config{})
	var asked atomic.Int64
	fails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Method string           `json:"method"`
			Params []map[string]any `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		if q.Method == "ledger" && asked.Add(1) > 1 {
			io.WriteString(w, "{") // HTTP 500 would cool the server down after the first, for 15 s in all
			return
		}
		var a map[string]any
		ask(t, honest.URL(), q.Method, q.Params[0], &a)
		json.NewEncoder(w).Encode(map[string]any{"result": a})
	}))
	defer fails.Close()
	other := small
	other.Seed = small.Seed + 1
	w := open(t, fails.URL, serveChain(t, sim.Config{Spec: other}).URL())
	if got, err := w.ByServers(t.Context(), last); !errors.Is(err, tip.ErrDisagree) {
		t.Errorf("%v, %v", got, err)
	}
	if asked.Load() < 2 {
		t.Error("the servers agreed, so that nothing was tested")
	}
}

// A server without the ledger is named once.
func TestLedgerWithoutServer(t *testing.T) {
	t.Parallel()
	s := serveChain(t, sim.Config{Complete: history.Set{{From: first, To: last - 1}}})
	w := open(t, s.URL())
	if err := w.Pool.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := w.ByServers(t.Context(), last)
	if err == nil || strings.Count(err.Error(), s.URL()) != 1 || !strings.HasPrefix(err.Error(), fmt.Sprintf("no server gives the hash of ledger %d: ", last)) {
		t.Error(err)
	}
}

// A cancelled vote returns only the context's error.
func TestVoteIsCancelled(t *testing.T) {
	asked, done := make(chan struct{}, 1), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}))
	defer hangs.Close()
	defer close(done)
	w := open(t, hangs.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := w.ByServers(ctx, last); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// A server that sometimes sends a fork's header, alone or beside an honest one, does not decide
// what the sync trusts.
func TestSometimesWrongServer(t *testing.T) {
	t.Parallel()
	honest := serveChain(t, sim.Config{})
	wrong := int64(0)
	for _, alone := range []bool{true, false} {
		for seed := range uint64(6) {
			liar := serveChain(t, sim.Config{Chain: honest.Chain(), FaultSeed: 1 + seed, Faults: fault.Rates{fault.Fork: 0.3}})
			urls := []string{liar.URL()}
			if !alone {
				urls = append(urls, honest.URL())
			}
			w := open(t, urls...)
			got, err := w.ByServers(t.Context(), last)
			if err != nil || got.Hash != truth(t, honest, last).Hash {
				t.Errorf("alone %v, seed %d: %v, %v", alone, seed, got, err)
			}
			sent := liar.Injected().Faults[fault.Fork].Sent
			if n := w.stats()[liar.URL()].Faults[tip.ErrContradiction.Error()]; alone && int64(n) != sent {
				t.Errorf("seed %d: faults recorded for %d of %d wrong answers", seed, n, sent)
			}
			wrong += sent
		}
	}
	if wrong == 0 {
		t.Error("no answer was wrong")
	}
}

// A server without a most frequent hash is named, with the number of its hashes.
func TestServerWithoutConsistentHash(t *testing.T) {
	t.Parallel()
	s := serveChain(t, sim.Config{Faults: fault.Rates{fault.Parent: 1}}) // each time another parent
	w := open(t, s.URL())
	if _, err := w.ByServers(t.Context(), last); err == nil || !strings.Contains(err.Error(), "no hash leads by 5") {
		t.Error(err)
	}
}

// A server that does not find a ledger by its index may know its hash from the ledger above.
func TestHashFromAbove(t *testing.T) {
	t.Parallel()
	honest := serveChain(t, sim.Config{})
	lacks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Method string           `json:"method"`
			Params []map[string]any `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		index, _ := q.Params[0]["ledger_index"].(float64)
		if q.Method == "ledger" && (index == last-3 || index == last) {
			io.WriteString(w, `{"result":{"error":"lgrNotFound","error_code":21,"error_message":"ledgerNotFound","status":"error"}}`)
			return
		}
		var a map[string]any
		ask(t, honest.URL(), q.Method, q.Params[0], &a)
		json.NewEncoder(w).Encode(map[string]any{"result": a})
	}))
	defer lacks.Close()
	w := open(t, lacks.URL)
	if a, err := w.ByServers(t.Context(), last-3); err != nil || a.Hash != truth(t, honest, last-3).Hash {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := w.ByServers(t.Context(), last); response.CodeOf(err) != response.NotFound {
		t.Errorf("the tip, which has none above: %v", err)
	}
}

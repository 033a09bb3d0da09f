package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/daemon"
	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/pace"
	"dyno/services/ledger/sim"
)

// opened is a pipeline from servers into an empty store.
func opened(t *testing.T, set map[string]string, urls ...string) *pipeline {
	t.Helper()
	choice, err := Assembly().Resolve(daemon.Tuned, set)
	if err != nil {
		t.Fatal(err)
	}
	env := &daemon.Env{Choice: choice, Data: t.TempDir(), Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Stdout: io.Discard, Stderr: io.Discard}
	st, err := openStore(env)
	if err != nil {
		t.Fatal(err)
	}
	r := request{from: first, to: last, servers: urls, level: "L2"}
	p, err := r.open(t.Context(), env, st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// stats are the statistics of a pipeline's servers.
func (p *pipeline) stats() (all map[string]pace.ServerStats) {
	all = map[string]pace.ServerStats{}
	for _, s := range p.pool.Report() {
		all[s.Server] = s
	}
	return all
}

// Requests for the top's hash count against the server's budget.
func TestHashRequestsAreWithinBudgets(t *testing.T) {
	a := serveChain(t, sim.Config{})
	b := serveChain(t, sim.Config{Chain: a.Chain()})
	p := opened(t, nil, a.URL(), b.URL())
	got, err := p.byServers(t.Context(), last)
	if err != nil || got.Hash != truth(t, a, last).Hash || !strings.Contains(p.trustSource, "as reported by 2 of 2") {
		t.Fatalf("%v, %v: %s", got, err, p.trustSource)
	}
	for _, s := range p.pool.Report() {
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
	p := opened(t, nil, honest.URL(), away.URL, serveChain(t, sim.Config{Chain: honest.Chain()}).URL())
	if err := p.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := asked.Load()
	if got, err := p.byServers(t.Context(), last); err != nil || got.Hash != truth(t, honest, last).Hash {
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
		p := opened(t, nil, liar.URL)
		if _, err := p.byServers(t.Context(), last); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		s := p.stats()[liar.URL]
		if n := s.Faults[want.Error()]; n == 0 || uint64(n) != s.Requests || p.watch.Wrong.Load() != s.Requests {
			t.Errorf("%v: %+v", want, s)
		}
		kept := p.store.Wrong()
		if uint64(len(kept)) != s.Requests || kept[0].Reason != want.Error() {
			t.Errorf("kept: %+v", kept)
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
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		var a map[string]any
		ask(t, honest.URL(), q.Method, q.Params[0], &a)
		json.NewEncoder(w).Encode(map[string]any{"result": a})
	}))
	defer fails.Close()
	other := small
	other.Seed = small.Seed + 1
	p := opened(t, nil, fails.URL, serveChain(t, sim.Config{ChainConfig: other}).URL())
	if got, err := p.byServers(t.Context(), last); !errors.Is(err, errDisagree) {
		t.Errorf("%v, %v: %s", got, err, p.trustSource)
	}
	if asked.Load() < 2 {
		t.Error("the servers agreed, so that nothing was tested")
	}
}

// A server without the ledger is named once.
func TestLedgerWithoutServer(t *testing.T) {
	s := serveChain(t, sim.Config{Complete: history.Set{{From: first, To: last - 1}}})
	p := opened(t, nil, s.URL())
	if err := p.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := p.byServers(t.Context(), last)
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
	p := opened(t, nil, hangs.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := p.byServers(ctx, last); err != context.Canceled {
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
			liar := serveChain(t, sim.Config{Chain: honest.Chain(), FaultSeed: 1 + seed, Faults: sim.Rates{sim.Fork: 0.3}})
			urls := []string{liar.URL()}
			if !alone {
				urls = append(urls, honest.URL())
			}
			p := opened(t, nil, urls...)
			got, err := p.byServers(t.Context(), last)
			if err != nil || got.Hash != truth(t, honest, last).Hash {
				t.Errorf("alone %v, seed %d: %v, %v", alone, seed, got, err)
			}
			sent := liar.Injected().Faults[sim.Fork].Sent
			if n := p.stats()[liar.URL()].Faults[errContradiction.Error()]; alone && int64(n) != sent {
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
	s := serveChain(t, sim.Config{Faults: sim.Rates{sim.Parent: 1}}) // each time another parent
	p := opened(t, nil, s.URL())
	if _, err := p.byServers(t.Context(), last); err == nil || !strings.Contains(err.Error(), "no hash leads by 5") {
		t.Error(err)
	}
}

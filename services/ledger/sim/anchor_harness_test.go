package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/tip"
	"dyno/services/ledger/xrpl"
)

const (
	first   = 1000
	ledgers = 20
	last    = first + ledgers - 1
)

var small = chain.Spec{First: first, Ledgers: ledgers, Transactions: 3, Seed: 11}

// serveChain starts a simulated server, of a small chain by default.
func serveChain(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	if c.Chain == nil && c.Ledgers == 0 {
		c.Spec = small
	}
	s := ledgertest.Serve(t, c)
	if err := s.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func truth(t testing.TB, s *sim.Sim, index uint32) *xrpl.Ledger {
	t.Helper()
	l, err := s.Chain().Ledger(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// world is a Finder and what it found wrong.
type world struct {
	*tip.AnchorFinder
	mu    sync.Mutex
	wrong []error
}

func open(t *testing.T, urls ...string) *world {
	t.Helper()
	w := &world{}
	w.AnchorFinder = &tip.AnchorFinder{Timeout: 30 * time.Second, Wrong: func(_ string, _ *response.Answer, why error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.wrong = append(w.wrong, why)
	}}
	for _, url := range urls {
		s, err := servers.Open(t.Context(), servers.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		w.Servers = append(w.Servers, s)
	}
	w.Pool = servers.NewPool(servers.PoolConfig{Servers: w.Servers})
	t.Cleanup(func() {
		w.Pool.Close()
		for _, s := range w.Servers {
			s.Close()
		}
	})
	return w
}

// stats are the statistics of the servers by name.
func (w *world) stats() map[string]servers.ServerStats {
	all := map[string]servers.ServerStats{}
	for _, s := range w.Pool.Report() {
		all[s.Server] = s
	}
	return all
}

// ask sends a request over JSON-RPC, and reads the result.
func ask(t testing.TB, url, method string, params map[string]any, result any) {
	t.Helper()
	question, _ := json.Marshal(map[string]any{"method": method, "params": []any{params}})
	r, err := http.Post(url, "application/json", bytes.NewReader(question))
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&struct{ Result any }{result}); err != nil {
		t.Error(err)
	}
}

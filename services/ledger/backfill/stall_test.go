package backfill

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl/history"
)

func TestStallDetector(t *testing.T) {
	var v stallDetector
	begin := time.Unix(1000, 0)
	good := begin
	for _, step := range []struct {
		at     int // s
		good   bool
		asking bool
		want   time.Duration
	}{
		{at: 0, asking: true},
		{at: 3, asking: true, want: 3 * time.Second},
		{at: 5, asking: false, want: 3 * time.Second}, // starts to count here
		{at: 65, asking: false, want: 3 * time.Second},
		{at: 66, asking: true, want: 3 * time.Second},
		{at: 67, asking: true, want: 4 * time.Second},
		{at: 70, good: true, asking: true},
		{at: 71, asking: true, want: time.Second},
	} {
		now := begin.Add(time.Duration(step.at) * time.Second)
		if step.good {
			good = now
		}
		if got := v.pass(now, good, step.asking); got != step.want {
			t.Errorf("after %d s: got %v, want %v", step.at, got, step.want)
		}
	}
}

// before lets meddle answer a server's requests; where it returns false the server answers.
func before(t *testing.T, s *sim.Sim, meddle func(w http.ResponseWriter, r *http.Request) bool) *servers.Server {
	t.Helper()
	to, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	transport := &http.Transport{}
	proxy.Transport = transport
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !meddle(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	server, err := servers.Open(t.Context(), servers.Config{URL: front.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		front.Close()
		transport.CloseIdleConnections()
	})
	return server
}

// served is a pool of servers.
func served(t *testing.T, clients ...*servers.Server) *servers.Pool {
	t.Helper()
	p := servers.NewPool(servers.PoolConfig{Servers: clients})
	t.Cleanup(p.Close)
	if err := p.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// A server's Retry-After is waited for, even longer than StallTimeout.
func TestWaitsForRetryAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked atomic.Int64
	p := served(t, before(t, w.server(t, sim.Config{}), func(w http.ResponseWriter, r *http.Request) bool {
		if asked.Add(1) != 3 { // the first is server_info
			return false
		}
		w.Header().Set("Retry-After", "4")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}))
	var k keeper
	c := w.config(p, &k)
	c.Fetches, c.StallTimeout = 1, 2*time.Second
	gap := history.Range{From: last - 5, To: last}
	if err := Run(t.Context(), c, gap); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, gap)
	if r := p.Report()[0]; r.Slowed != 1 {
		t.Errorf("%+v", r)
	}
}

// A server that hangs is distinguished from one that was slow to be asked, and another does the
// work.
func TestHangIsTimeout(t *testing.T) {
	w := newWorld(t)
	hangs := w.server(t, sim.Config{Faults: fault.Rates{fault.Stall: 1}})
	p := pool(t, hangs, w.server(t, sim.Config{})) // the one that hangs first
	var k keeper
	c := w.config(p, &k)
	c.Timeout = time.Second
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, all)
	if r := p.Report(); r[0].Errors["timeout"] == 0 || r[0].Score >= 1 || r[1].Good < ledgers {
		t.Errorf("%+v", r)
	}
}

// A server that is always slow counts as slow, and stays in use.
func TestSlowIsNotHanging(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{Delay: time.Second}))
	var k keeper
	c := w.config(p, &k)
	// A first attempt has 800 ms, a third 3.2 s.
	c.Timeout, c.Fetches, c.StallTimeout = 3200*time.Millisecond, 8, 5*time.Minute
	gap := history.Range{From: last - 11, To: last}
	if err := Run(t.Context(), c, gap); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, gap)
	if r := p.Report()[0]; r.Errors["timeout"] == 0 {
		t.Errorf("%+v", r)
	}
}

// A ledger that a server claims, and then answers not found for a moment, ends no run.
func TestNotFoundPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var refused atomic.Int64
	p := served(t, before(t, w.server(t, sim.Config{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength < 60 || refused.Add(1) > 1 { // too short for a ledger request
			return false
		}
		w.Write([]byte(`{"result":{"error":"lgrNotFound","error_code":21,"error_message":"ledgerNotFound","status":"error"}}`))
		return true
	}))
	var k keeper
	c := w.config(p, &k)
	c.Attempts = 2
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	k.holds(t, w, all)
	if r := p.Report()[0]; r.Errors["not found"] != 1 {
		t.Errorf("%+v", r)
	}
}

// A ledger that no server claims is soon reported missing, with the ranges that servers have.
func TestNoServerClaims(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{Complete: lacking(last - 3)}))
	c := w.config(p, &keeper{})
	c.Attempts, c.StallTimeout = 2, time.Hour
	err := Run(t.Context(), c, history.Range{From: last - 5, To: last})
	if m := missing(err); m[last-3] == nil || !strings.Contains(err.Error(), "has only 1000-1019,1021-1023") {
		t.Error(err)
	}
}

// A failed request counts no bytes, whatever the answer's memory held before.
func TestNoBytesOfNoAnswer(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{Faults: fault.Rates{fault.Cut: 1}}))
	before := p.Report()[0].Bytes
	c := w.config(p, nil).ready()
	r := &run{Config: c, planner: newPlanner(c.shards(all))}
	s, _ := r.planner.Next(time.Now())
	it := &item{index: last, shard: s, answer: &response.Answer{Bytes: 1 << 20}}
	if err := r.ask(t.Context(), it); response.CodeOf(err) != response.Cut {
		t.Fatal(err)
	}
	if got := p.Report()[0].Bytes; got != before {
		t.Errorf("%d bytes are counted", got-before)
	}
}

// Package limits has the limits that public servers of the XRP Ledger put on an address: rippled's
// balance of costs, Clio's counts of requests, bytes and connections, and none. They decide; the
// server acts. It starts no goroutines.
package limits

import (
	"sync"
	"time"

	"dyno/parts/refusal"
)

// Limiter is what a server asks about each address. Its methods may be called from many goroutines.
type Limiter interface {
	// Admit says whether a request may be served at all.
	Admit(addr string) bool
	// Spent records a served request: its cost, and the size of its answer in bytes. It returns
	// whether the answer must carry the warning.
	Spent(addr string, cost, bytes int) (warn bool)
	// Opened and Closed count an address's connections.
	Opened(addr string)
	Closed(addr string)
}

// Limits a server can have.
const (
	None    = "none"
	Rippled = "rippled"
	Clio    = "clio"
)

// New returns a limiter by its name; "" is None. now is its clock.
func New(name string, now func() time.Time) (Limiter, error) {
	switch name {
	case None, "":
		return unlimited{}, nil
	case Rippled:
		return &resources{now: now, entries: map[string]*resource{}}, nil
	case Clio:
		return &guard{now: now, used: map[string]usage{}, connections: map[string]int{}}, nil
	}
	return nil, refusal.Unknown("limits", name, None, Rippled, Clio)
}

type unlimited struct{}

func (unlimited) Admit(string) bool           { return true }
func (unlimited) Spent(string, int, int) bool { return false }
func (unlimited) Opened(string)               {}
func (unlimited) Closed(string)               {}

// What requests cost on a rippled, and its thresholds. Source: XRPLF/rippled, resource/Fees.cpp and
// resource/detail/Tuning.h. The balance of an address is a sum of costs that decays over a window
// of 32 s, divided by that window: at a steady rate it settles at the cost per second. So 250
// requests/s of 20 lead to a warning.
const (
	CostRequest   = 20  // of a request
	CostMalformed = 100 // of what is no request
	costWarning   = 4000
	costDrop      = 6000

	decayWindow      = 32 // s
	warningThreshold = 5000
	dropThreshold    = 25000

	// maxAddresses bounds the remembered addresses (of loopback): 2^16 take about 10 MB.
	maxAddresses = 1 << 16
)

type resources struct {
	now     func() time.Time
	mu      sync.Mutex
	entries map[string]*resource
}

// resource is the balance of one address. Its clock has a resolution of a second, as in rippled.
type resource struct {
	value  int64 // balance x decayWindow
	when   int64 // s
	warned int64 // s; time of the last warning
}

// entry returns an address's balance, decayed to now.
func (r *resources) entry(addr string) (*resource, int64) {
	now := r.now().Unix()
	e := r.entries[addr]
	if e == nil {
		if len(r.entries) == maxAddresses {
			clear(r.entries)
		}
		e = &resource{when: now}
		r.entries[addr] = e
	}
	e.decay(now)
	return e, now
}

func (e *resource) decay(now int64) {
	elapsed := now - e.when
	if elapsed > 4*decayWindow {
		e.value, elapsed = 0, 0
	}
	for ; elapsed > 0 && e.value > 0; elapsed-- {
		e.value -= (e.value + decayWindow - 1) / decayWindow
	}
	e.when = now
}

func (e *resource) balance() int64 { return e.value / decayWindow }

func (r *resources) Admit(addr string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.entry(addr)
	if e.balance() < dropThreshold {
		return true
	}
	e.value += costDrop // a dropped client cannot return immediately
	return false
}

func (r *resources) Spent(addr string, cost, _ int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, now := r.entry(addr)
	e.value += int64(cost)
	if e.balance() < warningThreshold || e.warned == now {
		return false
	}
	e.warned = now
	e.value += costWarning
	return true
}

func (*resources) Opened(string) {}
func (*resources) Closed(string) {}

// Clio's limits, by address. Source: XRPLF/clio, util/newconfig/ConfigDefinition.cpp (dos_guard.*).
// All counts of requests and bytes are reset together every second.
const (
	sweepInterval  = time.Second
	maxRequests    = 20
	maxFetches     = 1_000_000 // bytes
	maxConnections = 20
)

type guard struct {
	now         func() time.Time
	mu          sync.Mutex
	swept       time.Time
	used        map[string]usage
	connections map[string]int
}

type usage struct{ requests, bytes int }

// sweep resets counts that are older than the interval.
func (g *guard) sweep() {
	if now := g.now(); now.Sub(g.swept) >= sweepInterval {
		g.swept = now.Truncate(sweepInterval)
		clear(g.used)
	}
}

func (g *guard) ok(addr string) bool {
	u := g.used[addr]
	return u.bytes <= maxFetches && u.requests <= maxRequests && g.connections[addr] <= maxConnections
}

func (g *guard) Admit(addr string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep()
	if len(g.used) == maxAddresses {
		clear(g.used)
	}
	u := g.used[addr]
	u.requests++
	g.used[addr] = u
	return g.ok(addr)
}

func (g *guard) Spent(addr string, _, bytes int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep()
	u := g.used[addr]
	u.bytes += bytes
	g.used[addr] = u
	return !g.ok(addr)
}

func (g *guard) Opened(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connections[addr]++
}

func (g *guard) Closed(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.connections[addr]--; g.connections[addr] <= 0 {
		delete(g.connections, addr)
	}
}

package sim

import (
	"sync"
	"time"

	"dyno/parts/refusal"
)

type limiter interface {
	// admit says whether a request may be served at all.
	admit(addr string) bool
	// spent records a served request: its cost, and the size of its answer in bytes. It returns
	// whether the answer must carry the warning.
	spent(addr string, cost, bytes int) (warn bool)
	// opened and closed count an address's connections.
	opened(addr string)
	closed(addr string)
}

// Limits a server can have.
const (
	NoLimits      = "none"
	RippledLimits = "rippled"
	ClioLimits    = "clio"
)

func newLimiter(name string, now func() time.Time) (limiter, error) {
	switch name {
	case NoLimits, "":
		return unlimited{}, nil
	case RippledLimits:
		return &resources{now: now, entries: map[string]*resource{}}, nil
	case ClioLimits:
		return &guard{now: now, used: map[string]usage{}, connections: map[string]int{}}, nil
	}
	return nil, refusal.Unknown("limits", name, NoLimits, RippledLimits, ClioLimits)
}

type unlimited struct{}

func (unlimited) admit(string) bool           { return true }
func (unlimited) spent(string, int, int) bool { return false }
func (unlimited) opened(string)               {}
func (unlimited) closed(string)               {}

// What requests cost on a rippled, and its thresholds. Source: XRPLF/rippled, resource/Fees.cpp and
// resource/detail/Tuning.h. The balance of an address is a sum of costs that decays over a window
// of 32 s, divided by that window: at a steady rate it settles at the cost per second. So 250
// requests/s of 20 lead to a warning.
const (
	costRequest   = 20
	costMalformed = 100
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

func (r *resources) admit(addr string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, _ := r.entry(addr)
	if e.balance() < dropThreshold {
		return true
	}
	e.value += costDrop // a dropped client cannot return immediately
	return false
}

func (r *resources) spent(addr string, cost, _ int) bool {
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

func (*resources) opened(string) {}
func (*resources) closed(string) {}

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

func (g *guard) admit(addr string) bool {
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

func (g *guard) spent(addr string, _, bytes int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep()
	u := g.used[addr]
	u.bytes += bytes
	g.used[addr] = u
	return !g.ok(addr)
}

func (g *guard) opened(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connections[addr]++
}

func (g *guard) closed(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.connections[addr]--; g.connections[addr] <= 0 {
		delete(g.connections, addr)
	}
}

package main

import (
	"fmt"
	"net/http"
	"runtime"
	"sync"

	"dyno/subjects/bounds/suite"
)

var crowded = suite.Entry{
	Name: "neighbour", Family: "environment", Truth: "cpu", Also: []string{"environment"}, Function: "main.stretch",
	InWords: "each request hashes, beside a process that takes the CPU away",
	Method:  "GET", Path: "/seal", Neighbour: true, Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		s := &sealer{rounds: d.Between("rounds", 3_000, 9_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /seal", s.seal), nil }
	},
}

var paced = suite.Entry{
	Name: "paced", Family: "not-loaded", Truth: "not-loaded",
	InWords: "far fewer requests come than the server could answer",
	Method:  "GET", Path: "/seal", Load: suite.Load{MaxRate: 200},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		s := &sealer{rounds: d.Between("rounds", 1_000, 4_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /seal", s.seal), nil }
	},
}

var thinking = suite.Entry{
	Name: "thinking", Family: "not-loaded", Truth: "not-loaded",
	InWords: "two clients ask, and pause after each answer for far longer than it took",
	Method:  "GET", Path: "/seal", Load: suite.Load{Connections: 2, ThinkMs: 20},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		s := &sealer{rounds: d.Between("rounds", 1_000, 4_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /seal", s.seal), nil }
	},
}

// sealer computes a seal for each request.
type sealer struct{ rounds int }

func (s *sealer) seal(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%x\n", stretch([]byte(r.RemoteAddr), s.rounds))
}

var vaults = suite.Entry{
	Name: "mixed-lock-cpu", Family: "mixed", Truth: "lock", Also: []string{"cpu"}, Kind: "mutex", Function: "main.(*vault).store",
	InWords: "each request computes, about half of it under a lock: the lock is always held, and the cores are all busy as well",
	Method:  "GET", Path: "/store", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		rounds, inside := d.Between("rounds", 5_000, 10_000), d.Between("inside_percent", 55, 60)
		return func() (*suite.Service, error) {
			return suite.Serving("GET /store", newBank(rounds, inside).deposit), nil
		}
	},
}

// bank has a vault for every two cores, so that its locks are as busy as the cores on any machine.
type bank struct {
	outside int // rounds
	vaults  []vault
	mu      sync.Mutex
	next    int
}

// vault stores one thing after the other.
type vault struct {
	inside int // rounds
	mu     sync.Mutex
	stored int
	seal   [32]byte
}

func newBank(rounds, insidePercent int) *bank {
	inside := rounds * insidePercent / 100
	b := &bank{outside: rounds - inside, vaults: make([]vault, max(runtime.GOMAXPROCS(0)/2, 1))}
	for i := range b.vaults {
		b.vaults[i].inside = inside
	}
	return b
}

func (b *bank) deposit(w http.ResponseWriter, r *http.Request) {
	thing := stretch([]byte(r.RemoteAddr), b.outside)
	fmt.Fprintf(w, "stored as %d\n", b.pick().store(thing))
}

// pick selects the vaults in turn.
func (b *bank) pick() *vault {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return &b.vaults[b.next%len(b.vaults)]
}

func (v *vault) store(thing [32]byte) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seal = stretch(thing[:], v.inside)
	v.stored++
	return v.stored
}

package soak

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
)

// cast are the servers of TestFaults: two that give false answers, each in its own way, two that
// fail and give no false answers, and one without faults. Two use WebSocket, where a connection
// that breaks, or dies, ends all its requests.
var cast = []struct {
	name   string
	rates  fault.Rates
	socket bool
}{
	{"careless", fault.Rates{fault.Flip: 0.06, fault.Empty: 0.06, fault.Partial: 0.06, fault.Other: 0.06}, false},
	{"malicious", fault.Rates{fault.Parent: 0.06, fault.Fork: 0.06, fault.Signature: 0.06, fault.Cut: 0.02}, true},
	{"troubled", fault.Rates{fault.Error: 0.1, fault.Unsynced: 0.02, fault.Overloaded: 0.02, fault.Cut: 0.08, fault.Latency: 0.02}, false},
	{"breaking", fault.Rates{fault.Dead: 0.3, fault.Overloaded: 0.02, fault.Cut: 0.04, fault.Stall: 0.02, fault.Latency: 0.02}, true},
	{"faultless", nil, false},
}

func address(s *sim.Sim, socket bool) string {
	if socket {
		return s.WS()
	}
	return s.URL()
}

// lies are the faults that look like a whole answer and are false.
var lies = []fault.Kind{fault.Flip, fault.Empty, fault.Partial, fault.Other, fault.Parent, fault.Fork, fault.Signature}

// FaultResult is the result of Faults.
type FaultResult struct {
	Rounds, Ledgers int
	Sent            map[fault.Kind]int // faults by kind
	Lies, Blamed    map[string]int     // by server
}

// Faults is the total number of faults.
func (f FaultResult) Faults() (n int) {
	for _, sent := range f.Sent {
		n += sent
	}
	return n
}

func (f FaultResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults in %d rounds of %d ledgers, none of which was stored wrongly or missing\n", f.Faults(), f.Rounds, f.Ledgers)
	for _, kind := range slices.Sorted(maps.Keys(f.Sent)) {
		fmt.Fprintf(&b, "  %-10s %d\n", kind, f.Sent[kind])
	}
	for _, c := range cast {
		fmt.Fprintf(&b, "  the %s server gave %d false answers; %d were recorded against it\n", c.name, f.Lies[c.name], f.Blamed[c.name])
	}
	return b.String()
}

// ledgersOfRound is enough for the client's score of a server to change several times.
const ledgersOfRound = 1000

// Faults lets a program sync the same range repeatedly from servers with different faults each
// time, until they have sent at least want of them. In each round the whole range must be stored
// and true, and no server may have more recorded faults than false answers.
func Faults(t testing.TB, p Program, want int, seed uint64) FaultResult {
	t.Helper()
	const first, last = 70_000, 70_000 + ledgersOfRound - 1
	c := makeChain(t, chain.Spec{First: first, Ledgers: ledgersOfRound, Transactions: 4, Seed: seed})
	truth := ledgertest.ReadTruth(t, server(t, sim.Config{Chain: c}).URL(), first, last)
	f := FaultResult{Ledgers: ledgersOfRound, Sent: map[fault.Kind]int{}, Lies: map[string]int{}, Blamed: map[string]int{}}
	for f.Faults() < want {
		before := f.Faults()
		f.round(t, p, c, truth, seed)
		if f.Faults() == before {
			t.Fatalf("seed %d: round %d met no fault at all: nothing was tested", seed, f.Rounds)
		}
		if f.Rounds%20 == 0 {
			t.Log(f)
		}
	}
	for name, lied := range f.Lies {
		if lied > 0 && f.Blamed[name] == 0 {
			t.Fatalf("seed %d: the %s server gave %d false answers and no fault was recorded", seed, name, lied)
		}
	}
	return f
}

func (f *FaultResult) round(t testing.TB, p Program, c *chain.Chain, truth ledgertest.Truth, seed uint64) {
	t.Helper()
	f.Rounds++
	folder := t.TempDir()
	defer os.RemoveAll(folder) // there are hundreds of rounds
	dir := filepath.Join(folder, "history")
	args := []string{"--from", fmt.Sprint(truth.From), "--to", fmt.Sprint(truth.To), "--anchor", truth.Hash(truth.To)}
	var servers []*sim.Sim // as in cast
	for i, role := range cast {
		s, err := sim.Start(sim.Config{Chain: c, Faults: role.rates, FaultSeed: seed + uint64(f.Rounds*len(cast)+i)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		servers = append(servers, s)
		args = append(args, "--server", address(s, role.socket))
	}
	life := p.sync(t, dir, args...)
	if code := life.Wait(t); code != 0 {
		t.Fatalf("seed %d: in round %d it exits with %d: %s", seed, f.Rounds, code, life.Stderr.String())
	}
	truth.Holds(t, p.Start, dir)
	guilty := ledgertest.ResultOf(t, life).Guilty()
	for i, s := range servers {
		name, url := cast[i].name, address(s, cast[i].socket)
		sent := s.Injected().Faults
		lied := 0
		for kind, count := range sent {
			f.Sent[kind] += int(count.Sent)
			if slices.Contains(lies, kind) {
				lied += int(count.Sent)
			}
		}
		// A sent answer may never be read: the client may have cancelled the request.
		if blamed := guilty[url]; blamed > lied {
			t.Fatalf("seed %d: in round %d the %s server gave %d false answers and has %d recorded faults", seed, f.Rounds, name, lied, blamed)
		}
		f.Lies[name] += lied
		f.Blamed[name] += guilty[url]
	}
}

// Package soak holds a history client to what it promises when all goes wrong: Kill kills it at
// random moments and lets it go on, Faults lets several servers answer wrongly ten thousand times,
// Elsewhere lets one of two servers fail. What decides is what is stored in the end, compared with
// the simulator's chain byte by byte, and what the servers have really sent, never how long it
// took.
//
//	DYNO_TESTS=all go test ./services/ledger/soak -run 'TestKill|TestFaults' -kills 100 -faults 10000 -v
//
// It talks to the program by arguments, signals and HTTP. It logs how long a failure took, and what
// a client uses of its servers' budgets (-within), but measures no speed. The processes and servers
// that it starts end with the test.
package soak

import (
	"testing"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
)

// Program is what is soaked.
type Program struct {
	Start ledgertest.Start
	Sync  []string // flags of sync besides those for what and where, such as --set fetches=32
}

// sync starts one.
func (p Program) sync(t testing.TB, dir string, args ...string) *ledgertest.Process {
	t.Helper()
	all := append([]string{"sync", "--data", dir, "--json"}, args...)
	return p.Start(t, append(all, p.Sync...)...)
}

// chain makes one that ends with the test.
func chain(t testing.TB, c sim.ChainConfig) *sim.Chain {
	t.Helper()
	made, err := sim.NewChain(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	if err := made.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	return made
}

// server starts one that ends with the test.
func server(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	s, err := sim.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Package soak checks that a history client keeps its promises under failures: Kill kills it at
// random moments and restarts it, Faults lets several servers send ten thousand wrong answers,
// Elsewhere lets one of two servers fail. The result depends only on what is stored in the end,
// compared with the simulator's chain byte by byte, and on what the servers have really sent, never
// on durations.
//
//	DYNO_TESTS=all go test ./services/ledger/soak -run 'TestKill|TestFaults' \
//	    -kills 100 -faults 10000 -v
//
// It controls the program by arguments, signals and HTTP. It logs how long a failure took, and
// which share of its servers' budgets a client uses (-within), but measures no speed. The processes
// and servers that it starts end with the test.
package soak

import (
	"testing"

	"dyno/parts/servicetest/program"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
)

// Program is the program under test.
type Program struct {
	Start program.Start
	// Flags of sync in addition to the range, the servers and the folder, such as --set fetches=32.
	Sync []string
}

func (p Program) sync(t testing.TB, dir string, args ...string) *program.Process {
	t.Helper()
	all := append([]string{"sync", "--data", dir, "--json"}, args...)
	return p.Start(t, append(all, p.Sync...)...)
}

func makeChain(t testing.TB, c chain.Spec) *chain.Chain {
	t.Helper()
	made, err := chain.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	if err := made.Made(t.Context()); err != nil {
		t.Fatal(err)
	}
	return made
}

func server(t testing.TB, c sim.Config) *sim.Sim {
	t.Helper()
	s, err := sim.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

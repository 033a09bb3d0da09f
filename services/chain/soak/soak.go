// Package soak checks that chaind keeps its promises when it is killed: Kill kills a node at random
// moments under load and starts it again. Nodes does so with three that agree by raft, and parts,
// slows and deceives them. The results depend only on what the nodes answered and what is stored in
// the end, never on durations.
//
//	DYNO_TESTS=all go test ./services/chain/soak -run TestKill -kills 200 -v
//	DYNO_TESTS=all go test ./services/chain/soak -run TestNodes -networks 20 -v
//
// It controls the program by arguments, signals and its API, and has go-ethereum execute the chain
// that the program exports. It measures no speed. The processes and goroutines that it starts end
// with the test.
package soak

import (
	"context"
	"testing"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// Program is the program under test.
type Program struct {
	Path  string
	Serve []string // flags of serve beside the folder and the addresses, such as --set state=flat
}

func (p Program) start(t testing.TB, e chaintest.Env) chaintest.Program {
	args := append([]string{p.Path, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + e.Data, "--lame-duck=" + e.LameDuck.String(), "--log-level=warn"}, p.Serve...)
	// A cleanup stops it, when the test's context has ended.
	life, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{Command: args, ReadyLine: true, ReadyTimeout: servicetest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	return chaintest.Program{
		URL: "http://" + life.Ready()["listen"], Debug: "http://" + life.Ready()["debug"],
		Stop: func() { processtest.Stop(t, life) },
		Kill: life.Kill,
	}
}

package main

import (
	"testing"

	"dyno/parts/process/processtest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/arenatest/core"
)

func TestCore(t *testing.T) {
	var builds processtest.Builds
	defer builds.Remove()
	program := builds.Program(t, ".")
	core.Test(t, func(t testing.TB) arenatest.Program {
		p := processtest.Start(t, program, "-listen=127.0.0.1:0", "-debug=127.0.0.1:0", "-lame-duck=0")
		return arenatest.Program{URL: "http://" + p.Ready()["listen"], Debug: "http://" + p.Ready()["debug"], Stop: func() { processtest.Stop(t, p) }}
	})
}

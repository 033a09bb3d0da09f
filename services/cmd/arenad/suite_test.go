package main

import (
	"context"
	"os/exec"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/services/arena"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/arenatest/core"
	"dyno/services/arena/arenatest/full"
)

// starter starts arenad as put together by a variant.
func starter(t *testing.T, v assembly.Variant, more ...string) arenatest.Start {
	program, err := exec.LookPath("arenad") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB) arenatest.Program {
		args := []string{program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + t.TempDir(), "--lame-duck=0s",
			"--log-level=warn", "--assembly=" + v.Assembly}
		for name, value := range v.Set {
			args = append(args, "--set="+name+"="+value)
		}
		// The suite stops it in a cleanup, when the test's context has ended.
		p, err := process.Start(context.Background(), process.Spec{Command: append(args, more...), ReadyLine: true, ReadyTimeout: servicetest.Patience})
		if err != nil {
			t.Fatal(err)
		}
		return arenatest.Program{
			URL: "http://" + p.Ready()["listen"], Debug: "http://" + p.Ready()["debug"],
			Stop: func() { processtest.Stop(t, p) },
		}
	}
}

// The suite passes however arenad is put together.
func TestCore(t *testing.T) {
	for _, v := range arena.Assembly().Variants() {
		if quicktest.On() && v.Label != assembly.Baseline && v.Label != assembly.Tuned {
			continue // the ends of the ladder
		}
		t.Run(v.Label, func(t *testing.T) {
			t.Parallel()
			core.Test(t, starter(t, v))
		})
	}
}

// What the plain program does not do, tuned and with the library whose frames are not all ended
// with a code.
func TestFull(t *testing.T) {
	for _, v := range arena.Assembly().Variants() {
		if v.Assembly == assembly.Tuned && len(v.Set) == 0 {
			full.Test(t, starter(t, v))
		}
	}
}

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
	"dyno/services/chain"
	"dyno/services/chain/chaintest"
	"dyno/services/chain/chaintest/core"
	"dyno/services/chain/chaintest/full"
)

// starter starts chaind as put together by a variant.
func starter(t *testing.T, v assembly.Variant) chaintest.Start {
	program, err := exec.LookPath("chaind") // this test's binary: see TestMain
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, e chaintest.Env) chaintest.Program {
		args := []string{program, "serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--data=" + e.Data, "--lame-duck=" + e.LameDuck.String(),
			"--log-level=warn", "--assembly=" + v.Assembly}
		for name, value := range v.Set {
			args = append(args, "--set="+name+"="+value)
		}
		// The suite stops it in a cleanup, when the test's context has ended.
		p, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{Command: args, ReadyLine: true, ReadyTimeout: servicetest.Patience})
		if err != nil {
			t.Fatal(err)
		}
		return chaintest.Program{
			URL: "http://" + p.Ready()["listen"], Debug: "http://" + p.Ready()["debug"],
			Stop: func() { processtest.Stop(t, p) },
			Kill: p.Kill,
		}
	}
}

// The suite passes however chaind is put together.
func TestCore(t *testing.T) {
	for _, v := range chain.Assembly().Variants() {
		if quicktest.On() && v.Label != assembly.Baseline && v.Label != assembly.Tuned {
			continue // the ends of the ladder
		}
		t.Run(v.Label, func(t *testing.T) {
			t.Parallel()
			core.Test(t, starter(t, v))
		})
	}
}

// Attacks are refused whichever transport and codec they come through.
func TestFull(t *testing.T) {
	for _, v := range chain.Assembly().Variants() {
		if v.Label == assembly.Tuned || v.Label == assembly.Baseline && !quicktest.On() {
			t.Run(v.Label, func(t *testing.T) { full.Test(t, starter(t, v)) })
		}
	}
}

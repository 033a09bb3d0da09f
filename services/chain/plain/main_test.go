package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"dyno/services/chain/chaintest"
	"dyno/services/chain/chaintest/core"

	"go.uber.org/goleak"
)

// asProgram in the environment makes the test's binary the program.
const asProgram = "CHAIN_PLAIN_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// start runs the test's binary as the program.
func start(t testing.TB, e chaintest.Env) chaintest.Program {
	cmd := exec.Command(os.Args[0], "--listen=127.0.0.1:0", "--data="+e.Data, "--lame-duck="+e.LameDuck.String())
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ Listen, Debug string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		cmd.Wait()
		t.Fatal(err)
	}
	return chaintest.Program{
		URL: "http://" + ready.Listen, Debug: "http://" + ready.Debug,
		Stop: func() {
			cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		},
		Kill: func() {
			cmd.Process.Kill()
			cmd.Wait() // reports the signal
		},
	}
}

func TestCore(t *testing.T) { core.Test(t, start) }

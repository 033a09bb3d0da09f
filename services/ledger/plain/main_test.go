package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/ledger/ledgertest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestCore(t *testing.T) {
	ledgertest.Core(t, ledgertest.Inside(run))
	ledgertest.Alone(t, ledgertest.Inside(run))
}

// As a process of its own it can be killed.
func TestDeaths(t *testing.T) {
	quicktest.Skip(t, "builds the program")
	program := filepath.Join(t.TempDir(), "plain")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ledgertest.Deaths(t, ledgertest.Binary(program))
}

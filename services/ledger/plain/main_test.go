package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/ledgertest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestCore(t *testing.T) { ledgertest.Core(t, program.Inside(run)) }

func TestAlone(t *testing.T) {
	quicktest.Skip(t, "a sync for each kind of fault")
	ledgertest.Alone(t, program.Inside(run))
}

// Numbers above the highest ledger's are refused, not cut off to a range that the caller did not
// give.
func TestRefusesNumbersThatNoLedgerHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a range that is not refused ends here
	for _, span := range [][]string{{"--from", "4294967297", "--to", "5"}, {"--from", "1", "--to", "4294967296"}} {
		var said bytes.Buffer
		code := run(ctx, append([]string{"sync", "--data", t.TempDir(), "--server", "http://127.0.0.1:1"}, span...), io.Discard, &said)
		if code != 2 || !strings.Contains(said.String(), "no ledger above 4294967295") {
			t.Errorf("%v: exit code %d, %s", span, code, &said)
		}
	}
}

// As a process of its own it can be killed.
func TestDeaths(t *testing.T) {
	quicktest.Skip(t, "builds the program")
	var builds processtest.Builds
	defer builds.Remove()
	ledgertest.Deaths(t, program.Binary(builds.Program(t, ".")))
}

package main

import (
	"context"
	"io"
	"maps"
	"os"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/command"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger"
	"dyno/services/ledger/ledgertest"
)

// variants are all that the suite runs on: every assembly, and what the ladder leaves out.
func variants() []assembly.Variant {
	return append(ledger.Assembly().Variants(), assembly.Variant{Label: "tuned,small", Assembly: assembly.Tuned, // everything comes to its limits
		Set: map[string]string{"window": "8", "store_batch": "3", "verifiers": "3", "shard_size": "2", "compression": "s2"}})
}

// hasty makes a sync that has to fail give up soon. The others wait for as long as a busy machine
// may take.
var hasty = []string{"--set", "patience=10s"}

// starter starts ledgersync in this process.
func starter(v assembly.Variant) program.Start { return program.Inside(assembled(v)) }

// assembled is ledgersync as put together by a variant.
func assembled(v assembly.Variant) program.Func {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		if args[0] == "sync" {
			with := []string{"sync", "--assembly", v.Assembly, "--set", "attempts=5", "--set", "patience=2m", "--debug", "127.0.0.1:0"}
			for name, value := range v.Set {
				with = append(with, "--set", name+"="+value)
			}
			args = append(with, args[1:]...)
		}
		return command.Run(ctx, ledger.Service(), commands(), args, os.LookupEnv, stdout, stderr)
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		if quicktest.On() && v.Label != assembly.Tuned {
			continue // the end of the ladder
		}
		t.Run(v.Label, func(t *testing.T) {
			t.Parallel()
			ledgertest.Test(t, starter(v), hasty...)
			if v.Label == assembly.Baseline || v.Label == assembly.Tuned { // one request on a socket, or many
				ledgertest.Sockets(t, program.Inside(program.Tidy(assembled(v))))
			}
			if v.Label == assembly.Tuned && !quicktest.On() {
				ledgertest.LoneSockets(t, program.Inside(program.Tidy(assembled(patient(v)))))
			}
		})
	}
}

// patient is an assembly that waits for a server that is dead for as long as it takes to notice.
func patient(v assembly.Variant) assembly.Variant {
	set := map[string]string{"patience": "60s", "attempts": "50"}
	maps.Copy(set, v.Set)
	v.Set = set
	return v
}

func TestDeaths(t *testing.T) {
	quicktest.Skip(t, "kills many processes")
	t.Parallel()
	ledgertest.Deaths(t, program.Binary("ledgersync"))
}

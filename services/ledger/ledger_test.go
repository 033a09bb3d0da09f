package ledger

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"dyno/parts/daemon"
	"dyno/services/ledger/ledgertest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // they wait for servers that are slow or gone more than they compute
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// variants are all that the suite runs on: every assembly, and what the ladder leaves out.
func variants() []daemon.Variant {
	all := slices.DeleteFunc(Assembly().Variants(), func(v daemon.Variant) bool {
		return v.Set["accounts"] != "" // it changes what account_tx answers, and nothing else: see store and TestAccountsAreIndexedLater
	})
	return append(all, daemon.Variant{Label: "tuned,small", Assembly: daemon.Tuned, // everything comes to its limits
		Set: map[string]string{"window": "8", "store_queue": "1", "store_batch": "3", "store_writers": "2", "verify_batch": "1", "verifiers": "3", "shard_size": "2"}})
}

// hasty makes a sync that has to fail give up soon. The others wait for as long as a busy machine
// may take.
var hasty = []string{"--set", "patience=10s"}

// starter starts ledgersync in this process.
func starter(v daemon.Variant) ledgertest.Start { return ledgertest.Inside(program(v)) }

// program is ledgersync as put together by a variant.
func program(v daemon.Variant) ledgertest.Program {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		if args[0] == "sync" {
			with := []string{"sync", "--assembly", v.Assembly, "--set", "attempts=5", "--set", "patience=2m", "--debug", "127.0.0.1:0"}
			for name, value := range v.Set {
				with = append(with, "--set", name+"="+value)
			}
			args = append(with, args[1:]...)
		}
		return daemon.Run(ctx, Service(), args, os.LookupEnv, stdout, stderr)
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		if testing.Short() && v.Label != daemon.Tuned {
			continue // the end of the ladder
		}
		t.Run(v.Label, func(t *testing.T) {
			t.Parallel()
			ledgertest.Core(t, starter(v), hasty...)
			ledgertest.Full(t, starter(v), hasty...)
			if v.Label == daemon.Baseline || v.Label == daemon.Tuned { // one request on a socket, or many
				ledgertest.Sockets(t, ledgertest.Inside(ledgertest.Tidy(program(v))))
			}
			if v.Label == daemon.Tuned && !testing.Short() {
				ledgertest.LoneSockets(t, ledgertest.Inside(ledgertest.Tidy(program(patient(v)))))
			}
		})
	}
}

// patient is an assembly that waits for a server that is dead for as long as it takes to notice.
func patient(v daemon.Variant) daemon.Variant {
	set := map[string]string{"patience": "60s", "attempts": "50"}
	maps.Copy(set, v.Set)
	v.Set = set
	return v
}

// build builds the program, once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if binaries, err = os.MkdirTemp("", "ledgersync"); err != nil {
		return "", err
	}
	path = filepath.Join(binaries, "ledgersync")
	if out, err := exec.Command("go", "build", "-o", path, "dyno/cmd/ledgersync").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// binaries is the folder of what build built; TestMain removes it.
var binaries string

func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	ledgertest.Deaths(t, ledgertest.Binary(built(t)))
}

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Fatal(err)
	}
}

package soak

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"

	"go.uber.org/goleak"
)

var (
	kills = flag.Int("kills", 5, "how often TestKill kills the dispatcher")
	seed  = flag.Uint64("seed", 0, "of what is random in TestKill; 0: another each time")
	set   []string
)

func init() {
	flag.Func("set", "a setting or seam of notifyd, such as commit=each; repeatable", func(value string) error {
		set = append(set, value)
		return nil
	})
}

var builds processtest.Builds

func TestMain(m *testing.M) {
	faultyMain()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

// Nothing that was acknowledged is lost, whenever the dispatcher dies.
func TestKill(t *testing.T) {
	quicktest.Skip(t, "kills a dispatcher again and again")
	soak(t, Config{Crashes: *kills, Seed: servicetest.Seed(t, *seed), Command: command(t, filepath.Join(t.TempDir(), "data"))})
}

func soak(t *testing.T, c Config) {
	c.Log = t.Logf
	summary, err := Run(t.Context(), c)
	if summary != nil {
		t.Logf("\n%s", summary)
	}
	if err != nil {
		t.Fatalf("seed %d: %v", c.Seed, err)
	}
}

// command returns how the dispatcher is started on a folder.
func command(t *testing.T, data string) []string {
	t.Helper()
	return Command(builds.Program(t, "dyno/services/cmd/notifyd"), data, set...)
}

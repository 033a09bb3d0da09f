package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/notify/soak/powercut"

	"go.uber.org/goleak"
)

var (
	kills = flag.Int("kills", 5, "how often TestKill kills the dispatcher")
	cuts  = flag.Int("powercut", 3, "how often TestPowerCut cuts the power")
	clean = flag.Bool("clean", false, "a power cut keeps nothing of what was not synced, instead of parts of it every other time")
	seed  = flag.Uint64("seed", 0, "of what is random in TestKill and TestPowerCut; 0: another each time")
	set   settings
)

func init() { flag.Var(&set, "set", "a setting or seam of notifyd, such as commit=each; repeatable") }

// settings is the value of a flag that can be repeated.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(value string) error {
	*s = append(*s, value)
	return nil
}

func TestMain(m *testing.M) {
	powercut.Main()
	faultyMain()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// Nothing that was acknowledged is lost, whenever the dispatcher dies.
func TestKill(t *testing.T) {
	quicktest.Skip(t, "kills a dispatcher again and again")
	soak(t, Config{Crashes: *kills, Seed: chooseSeed(t), Command: command(t, filepath.Join(t.TempDir(), "data"))})
}

func chooseSeed(t *testing.T) uint64 {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	return s
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

// build builds the dispatcher, once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if binaries, err = os.MkdirTemp("", "soak"); err != nil {
		return "", err
	}
	path = filepath.Join(binaries, "dispatcher")
	if out, err := exec.Command("go", "build", "-o", path, "dyno/cmd/notifyd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building notifyd: %w\n%s", err, out)
	}
	return path, nil
})

// binaries is the folder of what build built; TestMain removes it.
var binaries string

// command returns how the dispatcher is started on a folder.
func command(t *testing.T, data string) []string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{path, "serve", "--allow-private-targets", "--log-level", "warn", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", data}
	for _, s := range slices.Concat(busy, set) {
		args = append(args, "--set", s)
	}
	return args
}

// busy are settings under which much happens in little time: retries do not make the test long, a
// slow machine does not make attempts fail, most of what is pending waits in the log, and the log
// is trimmed all the time.
var busy = []string{
	"backoff=5ms", "max_backoff=50ms", "max_attempts=12", "timeout=1m", "window=64", "history=100ms", "history_bytes=64KiB",
}

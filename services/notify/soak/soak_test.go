package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/quicktest"

	"go.uber.org/goleak"
)

var (
	kills = flag.Int("kills", 5, "how often TestKill kills the dispatcher")
	seed  = flag.Uint64("seed", 0, "of what is random in TestKill; 0: another each time")
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
	if out, err := exec.Command("go", "build", "-o", path, "dyno/services/cmd/notifyd").CombinedOutput(); err != nil {
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
	return Command(path, data, set...)
}

package soak

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/services/notify/soak/powercut"

	"go.uber.org/goleak"
)

var (
	kills   = flag.Int("kills", 5, "how often TestKill kills the dispatcher")
	cuts    = flag.Int("powercut", 3, "how often TestPowerCut cuts the power")
	clean   = flag.Bool("clean", false, "a power cut keeps nothing of what was not synced, instead of parts of it every other time")
	seed    = flag.Uint64("seed", 0, "of what is random in TestKill and TestPowerCut; 0: another each time")
	program = flag.String("program", "cmd/notifyd", "the folder of the dispatcher to soak: cmd/notifyd or services/notify/plain")
	set     settings
)

func init() { flag.Var(&set, "set", "a setting or seam of notifyd, such as log=pebble; repeatable") }

// settings is the value of a flag that can be repeated.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(value string) error {
	*s = append(*s, value)
	return nil
}

func TestMain(m *testing.M) {
	powercut.Main()
	toyMain()
	goleak.VerifyTestMain(m)
}

// Nothing that was acknowledged is lost, whenever the dispatcher dies.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills a dispatcher for several seconds")
	}
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
	if plain() {
		c.Workers = plainWorkers
	}
	summary, err := Run(t.Context(), c)
	if summary != nil {
		t.Logf("\n%s", summary)
	}
	if err != nil {
		t.Fatalf("seed %d: %v", c.Seed, err)
	}
}

func plain() bool { return filepath.Base(*program) == "plain" }

// plainWorkers is how many the plain program has; its subscriptions know no concurrency.
const plainWorkers = 16

// command builds the dispatcher and returns how it is started on a folder.
func command(t *testing.T, data string) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "dispatcher")
	build := exec.Command("go", "build", "-o", binary, "dyno/"+*program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", *program, err, out)
	}
	common := []string{"--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", data}
	if plain() {
		return append([]string{binary, "--allow-private"}, common...)
	}
	args := append([]string{binary, "serve", "--allow-private-targets", "--log-level", "warn"}, common...)
	for _, s := range append(patient, set...) {
		args = append(args, "--set", s)
	}
	return args
}

// patient are settings under which failing receivers do not make the test long, and slow machines do not
// make attempts fail.
var patient = []string{"backoff=5ms", "max_backoff=50ms", "max_attempts=12", "timeout=1m"}

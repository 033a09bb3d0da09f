package powercut

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/services/notify/soak"
	"dyno/services/notify/soak/history"
)

var (
	cuts  = flag.Int("powercut", 3, "how often TestPowerCut cuts the power")
	clean = flag.Bool("clean", false, "a power cut keeps nothing of what was not synced, instead of parts of it every other time")
	seed  = flag.Uint64("seed", 0, "of what is random in TestPowerCut; 0: another each time")
)

// Nothing that was acknowledged is lost when the power goes.
func TestPowerCut(t *testing.T) {
	quicktest.Skip(t, "cuts the power of a dispatcher again and again")
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	var builds processtest.Builds
	defer builds.Remove()
	supply, data := folder(t, Options{Seed: *seed, Clean: *clean})
	summary, err := soak.Run(t.Context(), soak.Config{Crashes: *cuts, Seed: *seed, Power: supply, Log: t.Logf,
		Command: soak.Command(builds.Program(t, "dyno/services/cmd/notifyd"), data)})
	if summary != nil {
		t.Logf("\n%s", summary)
	}
	if err != nil {
		t.Fatalf("seed %d: %v", *seed, err)
	}
}

// What is not synced is lost in a power cut, and only then: the test program of soak is a
// dispatcher into which faults can be put.
func TestFindsMissingSync(t *testing.T) {
	quicktest.Skip(t, "cuts the power of a dispatcher again and again")
	program := filepath.Join(t.TempDir(), "faulty")
	if out, err := exec.Command("go", "test", "-c", "-o", program, "dyno/services/notify/soak").CombinedOutput(); err != nil {
		t.Fatalf("building the faulty dispatcher: %v\n%s", err, out)
	}
	for _, fault := range []string{"", "unsynced"} {
		t.Run("fault "+fault, func(t *testing.T) {
			const tries = 5 // a power cut may miss the moment in which data is not synced
			for seed := uint64(1); ; seed++ {
				supply, data := folder(t, Options{Seed: seed})
				summary, err := soak.Run(t.Context(), soak.Config{Crashes: 4, Seed: seed, Power: supply,
					Command: []string{"env", fmt.Sprintf("SOAK_FAULTY=%s,%s", fault, data), program}})
				t.Logf("\n%s\n%v", summary, err)
				lost := errors.Is(err, soak.ErrGone)
				if summary != nil {
					lost = lost || summary.Verdict.Broken[history.Lost]+summary.Verdict.Broken[history.Forgotten]+summary.Verdict.Broken[history.Definitions] > 0
				}
				switch {
				case fault == "" && err != nil:
					t.Error("there is no fault")
				case fault != "" && !lost && seed < tries:
					continue
				case fault != "" && !lost:
					t.Error("nothing was lost")
				}
				return
			}
		})
	}
}

// folder plugs a disk in and makes a folder on it, as an administrator does long before the power
// goes.
func folder(t *testing.T, o Options) (*Supply, string) {
	t.Helper()
	disk := t.TempDir()
	supply, err := Plug(disk, o)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := supply.Close(); err != nil {
			t.Errorf("taking the disk away: %v", err)
		}
	})
	data := filepath.Join(disk, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	parent, err := os.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(parent.Sync(), parent.Close()); err != nil {
		t.Fatal(err)
	}
	return supply, data
}

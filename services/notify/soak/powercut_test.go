package soak

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/notify/soak/powercut"
)

// Nothing that was acknowledged is lost when the power goes.
func TestPowerCut(t *testing.T) {
	quicktest.Skip(t, "cuts the power of a dispatcher again and again")
	disk := t.TempDir()
	seed := chooseSeed(t)
	supply, err := powercut.Plug(disk, powercut.Options{Seed: seed, Clean: *clean})
	if errors.Is(err, powercut.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := supply.Close(); err != nil {
			t.Errorf("taking the disk away: %v", err)
		}
	}()
	data := filepath.Join(disk, "data")
	if err := makeDurably(data); err != nil {
		t.Fatal(err)
	}
	soak(t, Config{Crashes: *cuts, Seed: seed, Command: command(t, data), Power: supply})
}

// makeDurably makes a folder as an administrator does long before the power goes.
func makeDurably(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

package flock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/flock"
)

// A file that is open with its lock cannot be opened so again, until it is closed.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := flock.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; only its owner should read it", info, err)
	}
	if second, err := flock.Open(path); !errors.Is(err, flock.ErrLocked) || second != nil {
		t.Fatalf("opened while it is locked: %v, %v", second, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := flock.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

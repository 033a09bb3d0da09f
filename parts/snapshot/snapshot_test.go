package snapshot_test

import (
	"strings"
	"testing"

	"dyno/parts/snapshot"
	"dyno/parts/snapshot/snapshottest"
)

func TestSnapshots(t *testing.T) {
	for name, build := range snapshot.Constructors[int, int, int]() {
		t.Run(name, func(t *testing.T) { snapshottest.Test(t, build) })
	}
}

func TestNew(t *testing.T) {
	for _, name := range snapshot.Names() {
		if s, err := snapshot.New[int, string, bool](name); err != nil || s == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := snapshot.New[int, int, int]("mutexx"); err == nil || !strings.Contains(err.Error(), "atomic, mutex") {
		t.Errorf("an unknown name gives %v, want an error that lists the names", err)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, name := range snapshot.Names() {
		b.Run(name, func(b *testing.B) { snapshottest.Bench(b, snapshot.Constructors[int, int, int]()[name]) })
	}
}

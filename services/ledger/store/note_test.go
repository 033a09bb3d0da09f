package store

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// A note survives a crash and the rebuilding of the index; the last one counts.
func TestNotes(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, disk, Options{})
	chain := xrpltest.Chain(1, 5, 1, 1)
	say := func(value string) {
		t.Helper()
		if err := s.note(func(b *pebble.Batch) error { return b.Set([]byte("u/5"), []byte(value), nil) }); err != nil {
			t.Fatal(err)
		}
	}
	say("first")
	mustAppend(t, s, chain...)
	say("second")
	after := disk.CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(1, 1))})
	for range 2 {
		s = mustOpen(t, after, Options{})
		if value, err := s.index.Get([]byte("u/5")); err != nil || string(value) != "second" {
			t.Fatalf("%s, %v", value, err)
		}
		holds(t, s, map[uint32]*xrpl.Ledger{5: chain[0]})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := after.RemoveAll("data/" + IndexFolder); err != nil {
			t.Fatal(err)
		}
	}
}

package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// narrow is a disk with little free space.
type narrow struct {
	vfs.FS
	free atomic.Uint64 // bytes
}

func (n *narrow) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: n.free.Load()}, nil
}

func TestFullDiskIsRefusedAndRecoveredFrom(t *testing.T) {
	chain := xrpltest.Chain(1, 1, 4, 2)
	disk := &narrow{FS: vfs.NewMem()}
	disk.free.Store(1 << 40)
	s := mustOpen(t, disk, Options{})
	mustAppend(t, s, chain[3], chain[2])
	disk.free.Store(index.Reserve - 1)
	if err := s.Append(chain[:2], Progress{}); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "make room") {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := s.Evidence().Keep(WrongAnswer{}); !errors.Is(err, ErrFull) {
		t.Fatalf("on a full disk: %v", err)
	}
	want := map[uint32]*xrpl.Ledger{4: chain[3], 3: chain[2]}
	holds(t, s, want)
	disk.free.Store(1 << 40)
	mustAppend(t, s, chain[:2]...)
	want[2], want[1] = chain[1], chain[0]
	holds(t, s, want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(0)
	if _, err := Open("data", Options{FS: disk}); !errors.Is(err, ErrFull) {
		t.Fatalf("opened on a full disk: %v", err)
	}
}

// A disk that fails while the log is written or synced fails the store, which reports the reason,
// and leaves neither a hole nor half a ledger, before and after a power cut.
func TestFailingDisk(t *testing.T) {
	chain := xrpltest.Chain(1, 1, 10, 2)
	for name, kinds := range map[string][]errorfs.OpKind{"sync": {errorfs.OpFileSync, errorfs.OpFileSyncData}, "write": {errorfs.OpFileWrite}} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var broken atomic.Bool
			disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if broken.Load() && strings.HasSuffix(op.Path, ".pack") && slices.Contains(kinds, op.Kind) {
					return syscall.ENOSPC
				}
				return nil
			}))
			s := mustOpen(t, disk, Options{})
			mustAppend(t, s, chain[7:]...)
			broken.Store(true)
			err := s.Append(chain[4:7], Progress{})
			if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "start again") {
				t.Fatalf("not a reason: %v", err)
			}
			if got := s.Stored().String(); got != "8-10" {
				t.Fatalf("durable are %s", got)
			}
			broken.Store(false)
			if err := s.Append(chain[:4], Progress{}); !errors.Is(err, ErrFailed) {
				t.Fatalf("a failed store went on: %v", err)
			}
			after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, 1))})
			s.Close()
			again := mustOpen(t, after, Options{})
			if got := again.Stored().String(); got != "8-10" && got != "5-10" {
				t.Fatalf("after the power cut there are %s", got)
			}
			mustAppend(t, again, chain...)
			want := map[uint32]*xrpl.Ledger{}
			for _, l := range chain {
				want[l.Index] = l
			}
			holds(t, again, want)
		})
	}
}

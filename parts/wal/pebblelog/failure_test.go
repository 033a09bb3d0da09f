package pebblelog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dyno/parts/wal"
)

func mustOpen(t *testing.T, fs vfs.FS) *store {
	t.Helper()
	s, err := open("log", fs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// batches is one batch of n records, the first of them of number i.
func batches(i, n int) [][][]byte {
	var batch [][]byte
	for k := range n {
		batch = append(batch, fmt.Appendf(nil, "record %d", i+k))
	}
	return [][][]byte{batch}
}

func mustWrite(t *testing.T, s *store, i, n int) {
	t.Helper()
	if err := errors.Join(s.Write(batches(i, n)), s.Sync()); err != nil {
		t.Fatal(err)
	}
}

func mustHold(t *testing.T, s *store, from, next int) {
	t.Helper()
	at := from
	err := s.Scan(uint64(from), func(seq uint64, record []byte) error {
		if seq != uint64(at) || string(record) != fmt.Sprintf("record %d", at) {
			t.Fatalf("record %d came as %d: %q", at, seq, record)
		}
		at++
		return nil
	})
	if _, n := s.Bounds(); err != nil || at != next || n != uint64(next) {
		t.Fatalf("scan ended before %d, the next is %d, want %d: %v", at, n, next, err)
	}
}

// narrow is a disk of which little is free.
type narrow struct {
	vfs.FS
	free atomic.Uint64
}

func (n *narrow) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: n.free.Load()}, nil
}

func TestFullDiskIsRefusedAndRecoveredFrom(t *testing.T) {
	disk := &narrow{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	s := mustOpen(t, disk)
	mustWrite(t, s, 1, 3)
	disk.free.Store(reserve - 1)
	if err := s.Write(batches(4, 1)); !errors.Is(err, wal.ErrFull) {
		t.Fatalf("on a full disk: %v", err)
	}
	mustHold(t, s, 1, 4)
	disk.free.Store(1 << 30)
	mustWrite(t, s, 4, 2)
	mustHold(t, s, 1, 6)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A log of pebble's that cannot be written fails the log, and nothing that was synced is lost.
func TestFailingDisk(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{"sync": {errorfs.OpFileSync, errorfs.OpFileSyncData}, "write": {errorfs.OpFileWrite}} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var broken atomic.Bool
			disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if broken.Load() && strings.HasSuffix(op.Path, ".log") && slices.Contains(kinds, op.Kind) {
					return syscall.ENOSPC
				}
				return nil
			}))
			s := mustOpen(t, disk)
			mustWrite(t, s, 1, 10)
			broken.Store(true)
			err := errors.Join(s.Write(batches(11, 5)), s.Sync())
			if !errors.Is(err, wal.ErrFailed) || !strings.Contains(err.Error(), "no space left") {
				t.Fatalf("not a reason: %v", err)
			}
			broken.Store(false)
			if err := s.Write(batches(11, 1)); !errors.Is(err, wal.ErrFailed) {
				t.Fatalf("a failed log went on: %v", err)
			}
			if err := s.Trim(5); !errors.Is(err, wal.ErrFailed) {
				t.Fatalf("a failed log was trimmed: %v", err)
			}
			after := mem.CrashClone(vfs.CrashCloneCfg{})
			s.Close()
			again := mustOpen(t, after)
			defer again.Close()
			if _, next := again.Bounds(); next < 11 {
				t.Fatalf("10 records were synced, the next is %d", next)
			}
		})
	}
}

// After a power cut everything synced is there, and of what was not, whole batches from the first on.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(20) {
		disk := vfs.NewCrashableMem()
		s := mustOpen(t, disk)
		mustWrite(t, s, 1, 10)
		if err := s.Trim(4); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if err := s.Write(batches(11+3*i, 3)); err != nil {
				t.Fatal(err)
			}
		}
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 0))})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, after)
		first, next := again.Bounds()
		if first > 4 || next < 11 || (next-11)%3 != 0 {
			t.Fatalf("seed %d: bounds %d, %d after the cut", seed, first, next)
		}
		mustHold(t, again, int(first), int(next))
		mustWrite(t, again, int(next), 1)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForeignFolderIsRefused(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, disk)
	if err := s.db.Set([]byte("zebra"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open("log", disk); err == nil || !strings.Contains(err.Error(), "no number") {
		t.Fatalf("opened: %v", err)
	}
}

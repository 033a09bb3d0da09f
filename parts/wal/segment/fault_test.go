package segment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/vfs"
	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

func onDisk(t *testing.T, disk vfs.FS) *segment.Files {
	t.Helper()
	files, err := segment.Open("/log", segment.Options{FS: disk, SegmentBytes: 1 << 17, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Each append costs one sync, and segments cost no additional ones.
func TestSyncs(t *testing.T) {
	disk := faultdisk.New()
	l := wal.New(onDisk(t, disk), wal.Options{})
	defer l.Close()
	before := disk.Syncs()
	for range 100 {
		if _, err := l.Append([][]byte{record(1)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := disk.Syncs() - before; n != 100 {
		t.Fatalf("100 appends made %d syncs", n)
	}
}

// A full disk fails appends, and accepts them again when there is space, without a restart.
func TestFullDisk(t *testing.T) {
	disk := faultdisk.New()
	l := wal.New(onDisk(t, disk), wal.Options{Commit: wal.Group})
	disk.Full(10_000)
	next := uint64(1)
	for ; ; next++ {
		first, err := l.Append([][]byte{record(1)}, nil)
		if errors.Is(err, wal.ErrFull) {
			break
		} else if err != nil || first != next {
			t.Fatalf("Append gave %d, %v; want %d", first, err, next)
		}
	}
	if want := uint64(10_000 / spanOf100); next-1 != want { // at most a little space is unused
		t.Fatalf("%d records fitted into 10,000 bytes, want %d", next-1, want)
	}
	disk.Full(-1)
	if first, err := l.Append([][]byte{record(1)}, nil); err != nil || first != next {
		t.Fatalf("with space again Append gave %d, %v; want %d", first, err, next)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if files := onDisk(t, disk.Crash(1)); len(files.Quarantined()) > 0 {
		t.Fatal("a full disk has left damage")
	}
}

// On a full disk, records that are no longer needed can be removed, and the reserve can be written.
func TestFullDiskGivesUp(t *testing.T) {
	disk := faultdisk.New()
	files, err := segment.Open("/log", segment.Options{FS: disk, SegmentBytes: 1 << 17, Reserve: 64 << 10, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(t, files)
	disk.Full(0)
	n := 0
	write := func() error { n++; return errors.Join(files.Write([][][]byte{{record(n)}}), files.Sync()) }
	for err = write(); err == nil; err = write() {
	}
	if n--; n != 64<<10/spanOf100 || !errors.Is(err, wal.ErrFull) || !files.Low() {
		t.Fatalf("%d records fitted into the reserve, then %v, low: %v", n, err, files.Low())
	}
	files.Roll()
	if err := files.Trim(uint64(n + 1)); err != nil {
		t.Fatal(err)
	}
	if first, next := files.Bounds(); first != next || files.Low() {
		t.Fatalf("records from %d to %d are kept, low: %v", first, next, files.Low())
	}
	if err := write(); err != nil {
		t.Error("after a trim:", err)
	}
}

// A segment that was ended early can be removed while records behind it are kept.
func TestRoll(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir, 100)
	defer closeFiles(t, files)
	files.Roll() // there is no segment to end
	for i := 1; i <= 5; i++ {
		mustWrite(t, files, record(i))
	}
	files.Roll()
	mustWrite(t, files, record(6))
	if err := files.Write([][][]byte{{record(7)}}); err != nil {
		t.Fatal(err)
	}
	files.Roll() // takes effect at the next sync
	mustWrite(t, files, record(8))
	mustWrite(t, files, record(9))
	for _, first := range []uint64{6, 9} {
		if err := files.Trim(first); err != nil {
			t.Fatal(err)
		}
		if have, _ := files.Bounds(); have != first {
			t.Errorf("the log begins with %d, want %d", have, first)
		}
	}
}

// After a failed sync the log continues in another file; failed records do not reappear.
func TestFailedSync(t *testing.T) {
	disk := faultdisk.New()
	files := onDisk(t, disk)
	mustWrite(t, files, record(1))
	for round := range 3 { // the first round leaves a segment without records, which is replaced
		if err := files.Write([][][]byte{{record(100)}}); err != nil {
			t.Fatal(err)
		}
		disk.FailSync(1)
		if err := files.Sync(); err == nil || errors.Is(err, wal.ErrFailed) {
			t.Fatalf("round %d: Sync: %v", round, err)
		}
	}
	mustWrite(t, files, record(2))
	for seed := range uint64(50) {
		after := onDisk(t, disk.Crash(seed))
		if seen, damaged := walk(t, after); len(seen) != 2 || damaged != nil {
			t.Fatalf("seed %d: %v, damaged %v", seed, seen, damaged)
		}
	}
}

// When no other file can be started either, the log has failed, and returns that until it is opened
// again.
func TestFailed(t *testing.T) {
	disk := faultdisk.New()
	files := onDisk(t, disk)
	mustWrite(t, files, record(1))
	if err := files.Write([][][]byte{{record(100)}}); err != nil {
		t.Fatal(err)
	}
	disk.FailSync(1)
	if err := files.Sync(); err == nil {
		t.Fatal("Sync did not fail")
	}
	disk.FailSync(1)
	for range 3 {
		if err := files.Write([][][]byte{{record(2)}}); !errors.Is(err, wal.ErrFailed) {
			t.Fatalf("Write: %v", err)
		}
	}
	if seen, _ := walk(t, files); len(seen) != 1 {
		t.Fatalf("a failed log can be read: %v", seen)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	files = onDisk(t, disk)
	mustWrite(t, files, record(2))
	if seen, _ := walk(t, files); len(seen) != 2 {
		t.Fatalf("after a restart: %v", seen)
	}
}

// slow is a file system without allocation, as on systems other than Linux.
type slow struct{ *faultdisk.Disk }

func (s slow) Create(name string) (vfs.File, error) { return without(s.Disk.Create(name)) }
func (s slow) Open(name string) (vfs.File, error)   { return without(s.Disk.Open(name)) }

type unallocated struct{ vfs.File }

func (unallocated) Allocate(int64, int64) error { return errors.ErrUnsupported }

func without(f vfs.File, err error) (vfs.File, error) { return unallocated{f}, err }

func TestWithoutAllocation(t *testing.T) {
	disk := faultdisk.New()
	files := onDisk(t, slow{disk})
	for i := 1; i <= 50; i++ {
		mustWrite(t, files, record(i))
	}
	after := disk.Crash(7)
	files = onDisk(t, slow{after})
	if seen, damaged := walk(t, files); len(seen) != 50 || damaged != nil {
		t.Fatalf("%v, damaged %v", seen, damaged)
	}
}

// The folders above the log are created as well; an unfinished segment makes room for the next;
// allocated space is freed.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "log")
	fill(t, dir, 3, 100)
	unfinished := filepath.Join(dir, "begun.tmp")
	if err := os.WriteFile(unfinished, bytes.Repeat([]byte("x"), 99), 0o600); err != nil {
		t.Fatal(err)
	}
	files := open(t, dir, 100)
	if b, err := os.ReadFile(unfinished); err != nil || bytes.Contains(b, []byte("x")) {
		t.Errorf("%s holds %q, %v", unfinished, b, err)
	}
	mustWrite(t, files, record(4))
	size := files.Size()
	closeFiles(t, files)
	if info, err := os.Stat(path(dir, 1)); err != nil || info.Size() != size || size != 64+4*spanOf100 {
		t.Errorf("the file has %d bytes, Size was %d, and 4 records take %d: %v", info.Size(), size, 64+4*spanOf100, err)
	}
}

// Neither writing nor reading allocates per record.
func TestAllocations(t *testing.T) {
	files := open(t, t.TempDir(), 1<<20)
	defer closeFiles(t, files)
	batches := [][][]byte{{record(1), record(2)}, {record(3)}}
	written := testing.AllocsPerRun(200, func() {
		if err := files.Write(batches); err != nil {
			t.Fatal(err)
		}
	})
	if written > 0 {
		t.Errorf("a Write allocates %v times", written)
	}
	n := 0
	read := testing.AllocsPerRun(50, func() {
		if err := files.Scan(1, func(uint64, []byte) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if read > 20 || n < 500*50 {
		t.Errorf("a Scan of %d records allocates %v times", n/51, read)
	}
}

// A reader whose records are taken back ends at the end of the log: that is not damage.
func TestTakenBackWhileRead(t *testing.T) {
	disk := faultdisk.New()
	files := onDisk(t, disk)
	mustWrite(t, files, record(1))
	large := make([]byte, 100<<10) // two of these are larger than a reader's buffer
	if err := files.Write([][][]byte{{large, large, large, large}}); err != nil {
		t.Fatal(err)
	}
	disk.FailSync(1)
	err := files.Scan(1, func(seq uint64, _ []byte) error {
		if seq == 1 && files.Sync() == nil {
			t.Error("Sync did not fail")
		}
		return nil
	})
	if err != nil || len(files.Quarantined()) > 0 {
		t.Fatalf("Scan: %v, quarantined %v", err, files.Quarantined())
	}
}

// A Trim that could not sync the folder leaves no gap when the next one continues and the power is
// cut: the removals of the first must be durable before the second removes more.
func TestTrimAfterTrimFailed(t *testing.T) {
	for failing := range 3 { // index of the second Trim's sync
		for seed := range uint64(50) {
			disk := faultdisk.New()
			options := segment.Options{FS: disk, SegmentBytes: 1, Log: quiet} // one record in each segment
			files, err := segment.Open("/log", options)
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i <= 5; i++ {
				mustWrite(t, files, record(i))
			}
			disk.FailSync(1)
			if err := files.Trim(2); err == nil {
				t.Fatal("Trim did not fail")
			}
			disk.FailSync(failing + 1)
			_ = files.Trim(3)
			options.FS = disk.Crash(seed)
			if files, err = segment.Open("/log", options); err != nil {
				t.Fatal(err)
			}
			if seen, damaged := walk(t, files); damaged != nil || len(seen) < 3 {
				t.Fatalf("sync %d failed, seed %d: %v are left, %v are missing", failing+1, seed, seen, damaged)
			}
			closeFiles(t, files)
		}
	}
}

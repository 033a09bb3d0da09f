package segment

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"dyno/parts/wal"
)

// Where a file system marks blocks that are allocated and not written, the log has no such blocks
// ahead: an append then changes no metadata, and its sync does not wait for the journal.
func TestAllocatedIsFilled(t *testing.T) {
	dir := t.TempDir()
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		t.Fatal(err)
	}
	if about.Type != unix.EXT4_SUPER_MAGIC && about.Type != unix.XFS_SUPER_MAGIC {
		t.Skip("the folder of temporary files is on no file system that marks such blocks")
	}
	f, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := wal.New(f, wal.Options{})
	defer l.Close()
	for range 3 {
		if _, err := l.Append([][]byte{make([]byte, 300<<10)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(filepath.Join(dir, fileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unix.Fsync(int(file.Fd())) // what is in memory alone counts as written
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	hole, err := unix.Seek(int(file.Fd()), 0, unix.SEEK_HOLE)
	if err != nil || hole != info.Size() || info.Size() < 1<<20 {
		t.Errorf("a hole at %d of %d bytes, %v", hole, info.Size(), err)
	}
}

package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

// quarantined returns the names in the quarantine.
func quarantined(t *testing.T, disk *faultdisk.Disk) (names []string) {
	t.Helper()
	entries, err := disk.ReadDir("/log/quarantine")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// damagedTail returns a disk with a log of 10 records, of which the last is damaged.
func damagedTail(t *testing.T, reserve int64) *faultdisk.Disk {
	t.Helper()
	disk := faultdisk.New()
	files, err := segment.Open("/log", segment.Options{FS: disk, Reserve: reserve, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		mustWrite(t, files, record(i+1))
	}
	closeFiles(t, files)
	if err := disk.Corrupt("/log/"+filepath.Base(path("", 1)), 64+9*spanOf100+40, func(b []byte) { b[0] ^= 1 }); err != nil {
		t.Fatal(err)
	}
	return disk
}

// Damaged bytes that cannot be copied to a full disk are not cut off: the log does not open, and no
// partial copy remains. With space or a reserve, the log opens and the bytes are kept.
func TestFullDiskKeepsDamage(t *testing.T) {
	for _, reserve := range []int64{0, 64 << 10} {
		disk := damagedTail(t, reserve)
		disk.Full(20)
		options := segment.Options{FS: disk, Reserve: reserve, Log: quiet}
		if reserve == 0 {
			for range 2 {
				if _, err := segment.Open("/log", options); err == nil || !strings.Contains(err.Error(), "make room") {
					t.Fatalf("on a full disk: %v", err)
				}
				if names := quarantined(t, disk); len(names) > 0 {
					t.Fatalf("in quarantine: %v", names)
				}
			}
			disk.Full(-1)
		}
		files, err := segment.Open("/log", options)
		if err != nil {
			t.Fatal(err)
		}
		if names := quarantined(t, disk); len(names) != 1 || len(files.Quarantined()) != 1 {
			t.Errorf("in quarantine: %v, %v", names, files.Quarantined())
		}
		closeFiles(t, files)
	}
}

// Copies of unfinished appends have their own limit, and take no space from damage. When there is
// too much damage, the log does not open, and nothing is cut off.
func TestQuarantineIsFull(t *testing.T) {
	for suffix, opens := range map[string]bool{"-unfinished": true, "": false} {
		dir := t.TempDir()
		fill(t, dir, 10, 100)
		flip(t, path(dir, 1), 64+9*spanOf100+40, 1)
		before, err := os.ReadFile(path(dir, 1))
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, "quarantine"), 0o700)
		}
		for i := range 1000 {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, "quarantine", fmt.Sprintf("%020d.seg-64%s", i, suffix)), nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		files, err := segment.Open(dir, segment.Options{Log: quiet})
		if (err == nil) != opens {
			t.Fatalf("%q: %v", suffix, err)
		}
		if err != nil {
			after, e := os.ReadFile(path(dir, 1))
			if e != nil || !bytes.Equal(before, after) || !strings.Contains(err.Error(), "move them elsewhere") {
				t.Errorf("%v, %v; the file was changed: %v", err, e, !bytes.Equal(before, after))
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "quarantine", fmt.Sprintf("%020d.seg-%d", 1, 64+9*spanOf100))); err != nil {
			t.Error(err)
		}
		closeFiles(t, files)
		unfinishedAt(t, dir)
		closeFiles(t, open(t, dir, 100))
		kept, err := filepath.Glob(filepath.Join(dir, "quarantine", "*-unfinished"))
		if err != nil || len(kept) != 100 {
			t.Errorf("%d copies of unfinished appends are kept, %v", len(kept), err)
		}
	}
}

// unfinishedAt leaves half an append at the end of a folder's log.
func unfinishedAt(t *testing.T, dir string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	f, err := os.OpenFile(found[len(found)-1], os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write([]byte("half an append"))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// The log can be trimmed on a disk without a free byte, on which the file "synced" cannot be
// written, and no record is reported missing after a crash.
func TestTrimWithoutSpace(t *testing.T) {
	for seed := range uint64(20) {
		disk := faultdisk.New()
		options := segment.Options{FS: disk, SegmentBytes: 1, Log: quiet} // one record in each segment
		files, err := segment.Open("/log", options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			mustWrite(t, files, record(i+1))
		}
		closeFiles(t, files)
		// The file exists but is empty, as after a start on a full disk.
		if f, err := disk.Create("/log/synced"); err != nil || errors.Join(f.Sync(), disk.Remove("/log/begun.tmp")) != nil {
			t.Fatal(err)
		}
		disk.Full(0)
		if files, err = segment.Open("/log", options); err != nil {
			t.Fatal(err)
		}
		if seed == 0 {
			if err := files.Trim(6); err != nil {
				t.Fatal(err)
			}
			if first, next := files.Bounds(); first < 5 || next != 6 {
				t.Fatalf("records from %d to %d are kept", first, next)
			}
			if err := errors.Join(files.Write([][][]byte{{record(6)}}), files.Sync()); err != nil {
				t.Errorf("after a trim: %v", err)
			}
		} else if err := files.Trim(3); err != nil {
			t.Fatal(err)
		}
		first, _ := files.Bounds()
		options.FS = disk.Crash(seed)
		if files, err = segment.Open("/log", options); err != nil {
			t.Fatal(err)
		}
		if have, next := files.Bounds(); have > first || next < 6 {
			t.Errorf("seed %d: records from %d to %d are kept, and those from %d on must be", seed, have, next, first)
		}
		if _, damaged := walk(t, files); damaged != nil {
			t.Errorf("seed %d: damaged %v", seed, damaged)
		}
		closeFiles(t, files)
	}
}

// The reserve makes room for a new segment, so that all others can be removed.
func TestReserveBeginsSegment(t *testing.T) {
	disk := faultdisk.New()
	options := segment.Options{FS: disk, Reserve: 64 << 10, Log: quiet}
	files, err := segment.Open("/log", options)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, files, record(1))
	closeFiles(t, files)
	disk.Full(0)
	if err := disk.Remove("/log/begun.tmp"); err != nil {
		t.Fatal(err)
	}
	disk.Full(0)
	if files, err = segment.Open("/log", options); err != nil {
		t.Fatal(err)
	}
	defer closeFiles(t, files)
	if err := files.Trim(2); err != nil && !errors.Is(err, wal.ErrFull) {
		t.Fatal(err)
	}
	if first, next := files.Bounds(); first != next {
		t.Errorf("records from %d to %d are kept", first, next)
	}
}

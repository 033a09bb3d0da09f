package segment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

// FuzzOpen opens a log whose last segment holds any bytes: Open fails, or reads the log without
// inventing records, and reads the same when it is opened again.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	fill(f, dir, 6, 100)
	valid, err := os.ReadFile(path(dir, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add(valid[:64])
	f.Add(valid[:64+3*spanOf100+20])
	f.Add([]byte{})
	f.Add(append(bytes.Clone(valid), valid[64+spanOf100:]...))
	f.Fuzz(func(t *testing.T, content []byte) {
		disk := faultdisk.New()
		put(t, disk, path("/log", 1), content)
		first, ok := contents(t, disk, "/log")
		again, still := contents(t, disk, "/log")
		if ok != still || len(first) != len(again) {
			t.Fatalf("%d records when opened once (%v), %d when opened again (%v)", len(first), ok, len(again), still)
		}
		for number, data := range first {
			if !bytes.Equal(again[number], data) || !bytes.Contains(content, data) {
				t.Fatalf("record %d changed, or was never in the file", number)
			}
		}
	})
}

// FuzzDamage changes an intact log in three places, and truncates it: every record read is one that
// was written.
func FuzzDamage(f *testing.F) {
	f.Add(uint16(100), uint16(300), uint16(700), byte(1), uint16(0))
	f.Add(uint16(64), uint16(64+spanOf100), uint16(64+2*spanOf100), byte(255), uint16(50))
	dir := f.TempDir()
	fill(f, dir, 12, 100)
	valid, err := os.ReadFile(path(dir, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b, c uint16, mask byte, cut uint16) {
		content := bytes.Clone(valid)
		for _, at := range []uint16{a, b, c} {
			content[64+int(at)%(len(content)-64)] ^= mask
		}
		content = content[:max(64, len(content)-int(cut))]
		disk := faultdisk.New()
		put(t, disk, path("/log", 1), content)
		seen, ok := contents(t, disk, "/log")
		if !ok {
			t.Fatal("refused, though the header is whole")
		}
		for number, data := range seen {
			if !bytes.Equal(data, record(int(number))) {
				t.Fatalf("record %d was never written", number)
			}
		}
	})
}

func put(t *testing.T, disk *faultdisk.Disk, path string, content []byte) {
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	file, err := disk.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
}

// contents opens the log and reads all readable records; false if Open fails.
func contents(t *testing.T, disk *faultdisk.Disk, dir string) (map[uint64][]byte, bool) {
	files, err := segment.Open(dir, segment.Options{FS: disk, Log: quiet})
	if err != nil {
		return nil, false
	}
	defer closeFiles(t, files)
	seen := map[uint64][]byte{}
	for at, next := files.Bounds(); at < next; {
		before := at
		err := files.Scan(at, func(seq uint64, data []byte) error {
			if seq < at || seq >= next {
				t.Fatalf("record %d of a log from %d to %d", seq, at, next)
			}
			seen[seq], at = bytes.Clone(data), seq+1
			return nil
		})
		var bad *wal.DamageError
		if errors.As(err, &bad) {
			at = bad.Next
		} else if err != nil || at == before {
			t.Fatalf("Scan from %d visited nothing: %v", before, err)
		}
	}
	return seen, true
}

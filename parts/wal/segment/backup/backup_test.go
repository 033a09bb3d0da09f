package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a log of many small segments.
func open(t *testing.T, dir string) (*wal.Log, *segment.Files) {
	t.Helper()
	files, err := segment.Open(dir, segment.Options{SegmentBytes: 32 << 10, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return wal.New(files, wal.Options{Commit: wal.Group}), files
}

// unpack unpacks a tar as people do, and returns the folder.
func unpack(t *testing.T, text io.Reader) string {
	t.Helper()
	dir := t.TempDir()
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := os.Mkdir(path, os.FileMode(h.Mode)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, os.FileMode(h.Mode))
		if err == nil {
			_, err = io.Copy(f, r)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// While two logs grow, of which the first refers to the second, and are trimmed between snapshots,
// a snapshot is two whole logs; it contains everything that existed when it began, and every record
// that its first log refers to.
func TestConsistentUnderLoad(t *testing.T) {
	dir := t.TempDir()
	events, _ := open(t, filepath.Join(dir, "journal"))
	records, _ := open(t, filepath.Join(dir, "notices"))
	ctx, cancel := context.WithCancel(context.Background())
	var acked atomic.Uint64 // every number up to it is stored
	var work sync.WaitGroup
	work.Go(func() {
		for size := 1; ctx.Err() == nil; size = size*5%4096 + 1 {
			batch := [][]byte{bytes.Repeat([]byte{7}, size), make([]byte, size)} // records of zeros too
			first, err := records.Append(batch, nil)
			if err == nil {
				err = events.AppendAsync([][]byte{binary.LittleEndian.AppendUint64(nil, first+1)}, nil)
			}
			if err != nil {
				t.Error(err)
				return
			}
			acked.Store(first + 1)
		}
	})
	const rounds = 20
	for range rounds {
		for was := acked.Load(); acked.Load() < was+20 && !t.Failed(); { // it has gone on
			runtime.Gosched()
		}
		before := acked.Load()
		s, err := Open(dir, "journal", "notices")
		if err != nil {
			t.Fatal(err)
		}
		first, _ := records.Bounds()
		if err := errors.Join(records.Trim(before/2), events.Trim(before/4)); err != nil { // under its feet
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := errors.Join(s.WriteTar(&text), s.Close()); err != nil {
			t.Fatal(err)
		}
		check(t, unpack(t, &text), first, before)
	}
	cancel()
	work.Wait()
	if err := errors.Join(records.Close(), events.Close()); err != nil {
		t.Fatal(err)
	}
	if first, _ := records.Bounds(); first == 1 {
		t.Error("nothing was trimmed")
	}
}

// check looks at an unpacked snapshot.
func check(t *testing.T, dir string, first, before uint64) {
	t.Helper()
	events, _ := open(t, filepath.Join(dir, "journal"))
	defer events.Close()
	records, files := open(t, filepath.Join(dir, "notices"))
	defer records.Close()
	_, err := files.Verify(context.Background(), func(e *wal.DamageError) { t.Error(e) })
	if err != nil {
		t.Fatal(err)
	}
	begins, next := records.Bounds()
	if begins > first || next <= before {
		t.Errorf("the copy holds %d to %d; there were %d to %d", begins, next-1, first, before)
	}
	begins, _ = events.Bounds()
	err = events.Scan(begins, func(_ uint64, event []byte) error {
		if told := binary.LittleEndian.Uint64(event); told >= next {
			t.Errorf("the journal refers to %d, and the copy ends before %d", told, next)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A copy that was cut short does not have the file that was named last.
func TestLastComesLast(t *testing.T) {
	dir := t.TempDir()
	log, _ := open(t, filepath.Join(dir, "log"))
	defer log.Close()
	for name, text := range map[string]string{"FORMAT": "1\n", "LOCK": "7\n", "log/note": "for people"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, "log", "FORMAT")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text bytes.Buffer
	if err := s.WriteTar(&text); err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "log/ log/00000000000000000001.seg FORMAT" {
		t.Errorf("it holds %s", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"none": "no such file", "empty": "no log of files"} {
		if s, err := Open(dir, name); err == nil || s != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What is written between the snapshot and the copying is left out, though the file has room for
// it.
func TestAllocatedStaysZeros(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, was := range []string{"", "abc", strings.Repeat("x", look), strings.Repeat("x", look+1), "a" + strings.Repeat("\x00", look) + "b"} {
		if err := os.WriteFile(path, append([]byte(was), make([]byte, 2*look+5)...), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, "file")
		if err != nil {
			t.Fatal(err)
		}
		later, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := later.WriteAt([]byte("later"), int64(len(was))+3); err != nil {
			t.Fatal(err)
		}
		later.Close()
		var text bytes.Buffer
		if err := errors.Join(s.WriteTar(&text), s.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(unpack(t, &text), "file"))
		if err != nil || string(got) != was+strings.Repeat("\x00", 2*look+5) {
			t.Errorf("of %d bytes: %d, %v", len(was), len(bytes.TrimRight(got, "\x00")), err)
		}
	}
}

// The system's own tar reads it.
func TestTarReadsIt(t *testing.T) {
	program, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar in PATH, so it is not asked to unpack a backup")
	}
	dir := t.TempDir()
	log, _ := open(t, filepath.Join(dir, "log"))
	defer log.Close()
	if _, err := log.Append([][]byte{[]byte("a record")}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var text bytes.Buffer
	if err := s.WriteTar(&text); err != nil {
		t.Fatal(err)
	}
	fresh := t.TempDir()
	c := exec.Command(program, "-x", "-C", fresh)
	c.Stdin = &text
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	copied, _ := open(t, filepath.Join(fresh, "log"))
	defer copied.Close()
	found := ""
	err = copied.Scan(1, func(_ uint64, record []byte) error { found += string(record); return nil })
	if err != nil || found != "a record" {
		t.Errorf("%q, %v", found, err)
	}
}

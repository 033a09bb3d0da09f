package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

const spanOf100 = 32 + 104 // bytes in the file of a record of 100: with its header, padded to a multiple of 8

// fill writes a log of n records of 100 bytes, each synced separately, in segments of perSegment
// records.
func fill(t testing.TB, dir string, n, perSegment int) {
	t.Helper()
	files := open(t, dir, perSegment)
	defer closeFiles(t, files)
	for i := 1; i <= n; i++ {
		mustWrite(t, files, record(i))
	}
}

func record(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 100) }

func open(t testing.TB, dir string, perSegment int) *segment.Files {
	t.Helper()
	files, err := segment.Open(dir, segment.Options{SegmentBytes: int64(64 + perSegment*spanOf100), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func closeFiles(t testing.TB, files *segment.Files) {
	t.Helper()
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t testing.TB, files *segment.Files, records ...[]byte) {
	t.Helper()
	if err := errors.Join(files.Write([][][]byte{records}), files.Sync()); err != nil {
		t.Fatal(err)
	}
}

// path returns the path of the segment that begins with a number.
func path(dir string, first int) string { return filepath.Join(dir, fmt.Sprintf("%020d.seg", first)) }

// flip changes bits of n bytes of a file.
func flip(t testing.TB, path string, off, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b[off+i] ^= 0x55
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// walk reads everything, continuing behind damage, and returns the numbers read and the damaged
// ranges, as from-next.
func walk(t testing.TB, files *segment.Files) (seen []uint64, damaged []string) {
	t.Helper()
	for at, _ := files.Bounds(); ; {
		err := files.Scan(at, func(seq uint64, data []byte) error {
			if !bytes.Equal(data, record(int(seq))) {
				t.Fatalf("record %d has other bytes", seq)
			}
			seen, at = append(seen, seq), seq+1
			return nil
		})
		var bad *wal.DamageError
		if !errors.As(err, &bad) {
			if err != nil {
				t.Fatal(err)
			}
			return seen, damaged
		}
		if bad.From != at || bad.Next <= at || !strings.Contains(bad.Error(), ".seg") {
			t.Fatalf("Scan from %d: %v", at, bad)
		}
		damaged, at = append(damaged, fmt.Sprintf("%d-%d", bad.From, bad.Next)), bad.Next
	}
}

// TestDamage changes bytes of a log of 20 records, 5 per segment: 1, 6, 11 and 16 begin one.
func TestDamage(t *testing.T) {
	at := func(i int) int { return 64 + i*spanOf100 } // offset of the i-th record of a segment
	for _, tt := range []struct {
		name    string
		first   int // of the segment
		off, n  int
		damaged string
		next    uint64
		early   bool // found by Open
	}{
		{"data in an older segment", 6, at(2) + 50, 1, "[8-9]", 21, false},
		{"header in an older segment", 6, at(2) + 3, 1, "[8-9]", 21, false},
		{"several records in an older segment", 6, at(1), 2*spanOf100 + 40, "[7-10]", 21, false},
		{"the end of an older segment", 6, at(4), 10, "[10-11]", 21, false},
		{"all of an older segment's records", 6, at(0), 5 * spanOf100, "[6-11]", 21, false},
		{"the header of an older segment", 6, 20, 4, "[6-11]", 21, false},
		{"padding between records", 6, at(2) - 2, 2, "[]", 21, false},
		{"data in the last segment", 16, at(1) + 90, 4, "[17-18]", 21, true},
		{"header in the last segment", 16, at(1) + 9, 1, "[17-18]", 21, true},
		{"several in the last segment", 16, at(0) + 9, spanOf100, "[16-18]", 21, true},
		{"data of the last record", 16, at(4) + 40, 1, "[20-21]", 21, true},
		{"header of the last record", 16, at(4) + 3, 1, "[20-21]", 21, true},
		{"the last two", 16, at(3) + 40, spanOf100, "[19-21]", 21, true},
		{"all of the last segment's records", 16, at(0), 5 * spanOf100, "[16-21]", 21, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 20, 5)
			flip(t, path(dir, tt.first), tt.off, tt.n)
			for round := range 2 { // the changes that Open makes must not change the result
				files := open(t, dir, 5)
				if found := len(files.Quarantined()) > 0; round == 0 && found != tt.early {
					t.Errorf("found by Open: %v", found)
				}
				seen, damaged := walk(t, files)
				if _, next := files.Bounds(); next != tt.next || fmt.Sprint(damaged) != tt.damaged {
					t.Fatalf("round %d: damaged %v, next %d; want %s, %d", round, damaged, next, tt.damaged, tt.next)
				}
				if len(files.Quarantined()) != len(damaged) {
					t.Errorf("round %d: %d quarantined", round, len(files.Quarantined()))
				}
				var verified []*wal.DamageError
				n, err := files.Verify(t.Context(), func(d *wal.DamageError) { verified = append(verified, d) })
				if err != nil || n != uint64(len(seen)) || len(verified) != len(damaged) {
					t.Errorf("Verify: %d records, %v, damaged %v", n, err, verified)
				}
				closeFiles(t, files)
			}
			files := open(t, dir, 5)
			defer closeFiles(t, files)
			mustWrite(t, files, record(int(tt.next)))
			if seen, _ := walk(t, files); seen[len(seen)-1] != tt.next {
				t.Fatalf("the record appended behind the damage is not the last: %v", seen)
			}
		})
	}
}

// Synced records that are cut off are reported missing, whatever is left of them, also at the
// second start.
func TestCutTail(t *testing.T) {
	const padding = 4
	for cut := padding + 1; cut <= 3*spanOf100; cut += 29 {
		dir := t.TempDir()
		fill(t, dir, 10, 100)
		if err := os.Truncate(path(dir, 1), int64(64+10*spanOf100-cut)); err != nil {
			t.Fatal(err)
		}
		lost := (cut - padding + spanOf100 - 1) / spanOf100
		want := fmt.Sprintf("[%d-11]", 11-lost)
		for round := range 3 {
			files := open(t, dir, 100)
			if round == 2 {
				mustWrite(t, files, record(11))
			}
			seen, damaged := walk(t, files)
			if fmt.Sprint(damaged) != want || len(seen) != 10-lost+round/2 {
				t.Fatalf("%d bytes cut off, round %d: read %v, damaged %v, want %s", cut, round, seen, damaged, want)
			}
			closeFiles(t, files)
		}
		kept, err := filepath.Glob(filepath.Join(dir, "quarantine", "*.seg-*"))
		if partly := cut < lost*spanOf100; err != nil || (len(kept) > 0) != partly {
			t.Errorf("%d bytes cut off: %v in quarantine, %v", cut, kept, err)
		}
	}
}

// An unfinished append is not read, but its bytes are kept.
func TestUnfinished(t *testing.T) {
	dir := t.TempDir()
	files := open(t, dir, 100)
	mustWrite(t, files, record(1))
	if err := files.Write([][][]byte{{record(2), record(3)}}); err != nil {
		t.Fatal(err)
	}
	flip(t, path(dir, 1), 64+2*spanOf100+40, 1) // as if the process ended here
	again := open(t, dir, 100)
	defer closeFiles(t, again)
	if seen, damaged := walk(t, again); len(seen) != 1 || damaged != nil {
		t.Errorf("read %v, damaged %v", seen, damaged)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "quarantine", fmt.Sprintf("%020d.seg-%d-unfinished", 1, 64+spanOf100)))
	if err != nil || len(kept) < spanOf100 {
		t.Errorf("%d bytes in quarantine, %v", len(kept), err)
	}
	closeFiles(t, files)
}

// A log whose files are gone is not taken for a new one, unless damage is accepted; then it
// continues behind the records known to have existed.
func TestMissingLog(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(dir string) error
		next uint64
	}{
		{"no segments", func(dir string) error { return os.Remove(path(dir, 1)) }, 11},
		{"nothing", func(dir string) error { return os.RemoveAll(dir) }, 1},
		{"a damaged header", func(dir string) error { return os.Truncate(path(dir, 1), 63) }, 11},
	} {
		dir := t.TempDir()
		fill(t, dir, 10, 100)
		if err := tt.harm(dir); err != nil {
			t.Fatal(err)
		}
		o := segment.Options{Log: quiet, Exists: true}
		if _, err := segment.Open(dir, o); !errors.Is(err, wal.ErrDamaged) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", tt.name, err)
		}
		o.AcceptDamage = true
		for range 2 {
			files, err := segment.Open(dir, o)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if _, next := files.Bounds(); next != tt.next {
				t.Errorf("%s: the next number is %d, want %d", tt.name, next, tt.next)
			}
			closeFiles(t, files)
		}
	}
}

// A segment that is put away does not replace another one with the same name.
func TestPutAwayTwice(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 {
		files, err := segment.Open(dir, segment.Options{Log: quiet, AcceptDamage: true})
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, files, record(round))
		closeFiles(t, files)
		flip(t, path(dir, 1), 30, 1)
		if err := os.Remove(filepath.Join(dir, "synced")); err != nil { // so that the numbers begin with 1 again
			t.Fatal(err)
		}
	}
	files, err := segment.Open(dir, segment.Options{Log: quiet, AcceptDamage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(t, files)
	kept, err := filepath.Glob(filepath.Join(dir, "quarantine", "*"))
	if err != nil || len(kept) != 2 {
		t.Errorf("%v in quarantine, %v; want both segments", kept, err)
	}
}

// A reserve that was created but not allocated when the process was killed is allocated at the next
// start.
func TestEmptyReserve(t *testing.T) {
	dir := t.TempDir()
	reserve := filepath.Join(dir, "reserve")
	if err := os.WriteFile(reserve, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := segment.Open(dir, segment.Options{Log: quiet, Reserve: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(t, files)
	if info, err := os.Stat(reserve); err == nil && info.Size() == 0 { // a file system without allocation has no reserve
		t.Error("the reserve is empty")
	}
}

// The damaged bytes are kept as they were found.
func TestQuarantine(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 10, 100)
	flip(t, path(dir, 1), 64+2*spanOf100+40, 1)
	damaged, err := os.ReadFile(path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	files := open(t, dir, 100)
	defer closeFiles(t, files)
	q := files.Quarantined()
	if len(q) != 1 || q[0].From != 3 || q[0].Next != 4 {
		t.Fatalf("quarantined: %v", q)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "quarantine", fmt.Sprintf("%020d.seg-%d", 1, 64+2*spanOf100)))
	if err != nil || !bytes.Equal(kept, damaged[64+2*spanOf100:64+3*spanOf100]) {
		t.Fatalf("%d bytes in quarantine, %v", len(kept), err)
	}
	// A reader that continues behind it gets no second error.
	if err := files.Scan(4, func(uint64, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// Record data that look like records are not read as records.
func TestForgery(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 3, 100)
	stolen, err := os.ReadFile(path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	files := open(t, other, 100)
	mustWrite(t, files, record(1))
	mustWrite(t, files, stolen[64+spanOf100:]) // records 2 and 3 of the first log, as data
	closeFiles(t, files)
	flip(t, path(other, 1), 64+spanOf100, 1)
	files = open(t, other, 100)
	defer closeFiles(t, files)
	if seen, damaged := walk(t, files); fmt.Sprint(seen, damaged) != "[1] [2-3]" {
		t.Fatalf("read %v, damaged %v: data were taken for records", seen, damaged)
	}
}

func TestMissingSegment(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 20, 5)
	if err := os.Remove(path(dir, 6)); err != nil {
		t.Fatal(err)
	}
	files := open(t, dir, 5)
	defer closeFiles(t, files)
	if seen, damaged := walk(t, files); len(seen) != 15 || fmt.Sprint(damaged) != "[6-11]" {
		t.Fatalf("read %v, damaged %v", seen, damaged)
	}
}

// Bytes behind the end of a segment, as given by the next segment's header, do not belong to the
// segment: here a record that was taken back, on a disk that lost the truncation.
func TestSealedEnd(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 6, 100)
	longer, err := os.ReadFile(path(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	const end = 64 + 5*spanOf100
	// Record 6 is taken back.
	if err := errors.Join(os.Truncate(path(dir, 1), end), os.Remove(filepath.Join(dir, "synced"))); err != nil {
		t.Fatal(err)
	}
	files := open(t, dir, 5) // the size of the first segment, so that another begins
	mustWrite(t, files, record(6))
	closeFiles(t, files)
	longer[end-10] ^= 1 // in record 5
	if err := os.WriteFile(path(dir, 1), longer, 0o600); err != nil {
		t.Fatal(err)
	}
	files = open(t, dir, 5)
	defer closeFiles(t, files)
	if seen, damaged := walk(t, files); fmt.Sprint(seen) != "[1 2 3 4 6]" || fmt.Sprint(damaged) != "[5-6]" {
		t.Fatalf("read %v, damaged %v", seen, damaged)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "quarantine", fmt.Sprintf("%020d.seg-%d", 1, end-spanOf100)))
	if err != nil || !bytes.Equal(kept, longer[end-spanOf100:end]) {
		t.Fatalf("%d bytes in quarantine, want those of record 5, %d: %v", len(kept), spanOf100, err)
	}
}

// A segment that another program has removed does not prevent those behind it from being trimmed.
func TestTrimMissingSegment(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 10, 2)
	files := open(t, dir, 2)
	defer closeFiles(t, files)
	if err := os.Remove(path(dir, 1)); err != nil {
		t.Fatal(err)
	}
	if err := files.Trim(5); err != nil {
		t.Fatal(err)
	}
	if first, _ := files.Bounds(); first != 5 {
		t.Errorf("the log begins at %d, want 5", first)
	}
}

// The end of a segment is taken only from the header of the next segment, not from a later one.
func TestMissingShortSegment(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 5, 5)
	files := open(t, dir, 2)
	for i := 6; i <= 9; i++ {
		mustWrite(t, files, record(i))
	}
	closeFiles(t, files)
	if err := os.Remove(path(dir, 6)); err != nil {
		t.Fatal(err)
	}
	files = open(t, dir, 2)
	defer closeFiles(t, files)
	if seen, damaged := walk(t, files); len(seen) != 7 || fmt.Sprint(damaged) != "[6-8]" {
		t.Fatalf("read %v, damaged %v", seen, damaged)
	}
}

// Open returns an error that names the problem and the remedy.
func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"a damaged header", func(t *testing.T, dir string) { flip(t, path(dir, 1), 17, 1) }, "header is damaged"},
		{"an empty file", func(t *testing.T, dir string) { os.Truncate(path(dir, 1), 0) }, "not a segment"},
		{"a version to come", func(t *testing.T, dir string) { flip(t, path(dir, 1), 8, 1) }, "newer version"},
		{"a file under another's name", func(t *testing.T, dir string) { os.Rename(path(dir, 1), path(dir, 9)) }, "begins with record 1"},
		{"a foreign name", func(t *testing.T, dir string) { os.Rename(path(dir, 1), filepath.Join(dir, "notes.seg")) }, "move it elsewhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 3, 100)
			tt.change(t, dir)
			_, err := segment.Open(dir, segment.Options{Log: quiet})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Fatalf("Open: %v; want it to say %q", err, tt.want)
			}
		})
	}
}

// A segment that is missing at the beginning is reported, but not one that was trimmed.
func TestMissingFirstSegment(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 20, 5)
	files := open(t, dir, 5)
	if err := files.Trim(8); err != nil {
		t.Fatal(err)
	}
	closeFiles(t, files)
	if err := os.Remove(path(dir, 6)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		files = open(t, dir, 5)
		if seen, damaged := walk(t, files); len(seen) != 10 || fmt.Sprint(damaged) != "[6-11]" {
			t.Errorf("read %v, damaged %v", seen, damaged)
		}
		closeFiles(t, files)
	}
	files = open(t, dir, 5)
	defer closeFiles(t, files)
	if err := files.Trim(17); err != nil {
		t.Fatal(err)
	}
	if seen, damaged := walk(t, files); len(seen) != 5 || damaged != nil {
		t.Errorf("after a trim: read %v, damaged %v", seen, damaged)
	}
}

// Package waltest is the conformance suite of wal backends, as tests and benchmarks, so that all
// backends are judged alike. It does not cover full disks, failing disks and crashes: each backend
// has its own tests that cause those. It is for tests only.
package waltest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"dyno/parts/wal"
)

// Open opens the backend kept in dir, which exists. Records that a backend of the same dir has
// stored before it was closed are there again. A failure to open ends the test.
type Open = func(t testing.TB, dir string) wal.Backend

// commits are the commit modes by name.
var commits = []struct {
	name string
	wal.Commit
}{{"each", wal.PerAppend}, {"group", wal.Group}}

// Test runs the suite.
func Test(t *testing.T, open Open) {
	t.Run("numbers without gaps", func(t *testing.T) { numbers(t, open) })
	t.Run("refuses an empty batch and one too large", func(t *testing.T) { refuses(t, open) })
	t.Run("keeps records of any size", func(t *testing.T) { sizes(t, open) })
	t.Run("scans from anywhere", func(t *testing.T) { scans(t, open) })
	t.Run("ends a scan when visit returns an error", func(t *testing.T) { stops(t, open) })
	t.Run("remembers", func(t *testing.T) { remembers(t, open) })
	t.Run("trims", func(t *testing.T) { trims(t, open) })
	t.Run("never gives a number twice", func(t *testing.T) { trimsAll(t, open) })
	t.Run("refuses what comes after Close", func(t *testing.T) { closes(t, open) })
	t.Run("agrees with a model", func(t *testing.T) { agrees(t, open) })
	for _, c := range commits {
		t.Run("appends concurrently/"+c.name, func(t *testing.T) { concurrent(t, open, c.Commit) })
		t.Run("reads beside appends/"+c.name, func(t *testing.T) { beside(t, open, c.Commit) })
		t.Run("appends lazily/"+c.name, func(t *testing.T) { lazily(t, open, c.Commit) })
	}
}

// numbered returns a record that contains its number.
func numbered(i int) []byte { return fmt.Appendf(nil, "record %d", i) }

// batch returns n records, the first of number i.
func batch(i, n int) [][]byte {
	var b [][]byte
	for k := range n {
		b = append(b, numbered(i+k))
	}
	return b
}

func newLog(t testing.TB, open Open, dir string, o wal.Options) *wal.Log {
	l := wal.New(open(t, dir), o)
	t.Cleanup(func() { l.Close() })
	return l
}

func mustAppend(t testing.TB, l *wal.Log, b [][]byte, want uint64) {
	t.Helper()
	first, err := l.Append(b, nil)
	if err != nil || first != want {
		t.Fatalf("Append gave number %d, %v; want %d", first, err, want)
	}
}

func mustBounds(t testing.TB, l *wal.Log, first, next uint64) {
	t.Helper()
	if f, n := l.Bounds(); f != first || n != next {
		t.Fatalf("Bounds are %d, %d; want %d, %d", f, n, first, next)
	}
}

func mustClose(t testing.TB, l *wal.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// read collects the records from a number on and checks that they are consecutive.
func read(t testing.TB, l *wal.Log, from uint64) [][]byte {
	t.Helper()
	var got [][]byte
	err := l.Scan(from, func(seq uint64, record []byte) error {
		if seq != from+uint64(len(got)) {
			return fmt.Errorf("record %d follows %d records from %d on", seq, len(got), from)
		}
		got = append(got, slices.Clone(record))
		return nil
	})
	if err != nil {
		t.Fatalf("Scan from %d: %v", from, err)
	}
	return got
}

// mustRead checks that the records from a number on are those of numbered, up to next.
func mustRead(t testing.TB, l *wal.Log, from, next int) {
	t.Helper()
	got := read(t, l, uint64(from))
	if len(got) != max(next-from, 0) {
		t.Fatalf("%d records from %d on, want %d", len(got), from, next-from)
	}
	for i, record := range got {
		if string(record) != string(numbered(from+i)) {
			t.Fatalf("record %d is %.40q", from+i, record)
		}
	}
}

func numbers(t *testing.T, open Open) {
	l := newLog(t, open, t.TempDir(), wal.Options{})
	mustBounds(t, l, 1, 1)
	mustRead(t, l, 1, 1)
	mustAppend(t, l, batch(1, 1), 1)
	mustAppend(t, l, batch(2, 5), 2)
	mustAppend(t, l, batch(7, 1), 7)
	mustBounds(t, l, 1, 8)
	mustRead(t, l, 1, 8)
	if s := l.Stats(); s.Records != 7 || s.Groups != 3 || s.Syncs != 3 || s.Bytes != 7*uint64(len(numbered(1))) {
		t.Fatalf("after three appends of 7 records: %+v", s)
	}
	if l.Size() <= 0 {
		t.Fatalf("Size is %d", l.Size())
	}
}

func refuses(t *testing.T, open Open) {
	l := newLog(t, open, t.TempDir(), wal.Options{MaxBatch: 100})
	large := [][]byte{make([]byte, 60), make([]byte, 41)}
	if _, err := l.Append(large, nil); !errors.Is(err, wal.ErrTooLarge) {
		t.Fatalf("101 bytes of at most 100: %v", err)
	}
	if err := l.AppendAsync(large, nil); !errors.Is(err, wal.ErrTooLarge) {
		t.Fatalf("101 bytes of at most 100, lazily: %v", err)
	}
	if _, err := l.Append(nil, nil); !errors.Is(err, wal.ErrEmpty) {
		t.Fatalf("no records: %v", err)
	}
	if err := l.AppendAsync([][]byte{}, nil); !errors.Is(err, wal.ErrEmpty) {
		t.Fatalf("no records, lazily: %v", err)
	}
	mustAppend(t, l, batch(1, 2), 1)
	mustRead(t, l, 1, 3)
}

func stops(t *testing.T, open Open) {
	l := newLog(t, open, t.TempDir(), wal.Options{})
	mustAppend(t, l, batch(1, 10), 1)
	mine := errors.New("mine")
	for _, end := range []error{wal.ErrStop, mine} {
		n := 0
		err := l.Scan(3, func(uint64, []byte) error {
			if n++; n == 4 {
				return end
			}
			return nil
		})
		if n != 4 || errors.Is(end, wal.ErrStop) && err != nil || end == mine && !errors.Is(err, mine) {
			t.Fatalf("visit returned %v at the 4th: %d visits, %v", end, n, err)
		}
	}
}

func closes(t *testing.T, open Open) {
	l := newLog(t, open, t.TempDir(), wal.Options{})
	mustAppend(t, l, batch(1, 1), 1)
	mustClose(t, l)
	if _, err := l.Append(batch(2, 1), nil); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := l.AppendAsync(batch(2, 1), nil); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("AppendAsync: %v", err)
	}
	if err := l.Sync(); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Sync: %v", err)
	}
	if err := l.Trim(2); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Trim: %v", err)
	}
	if err := l.Scan(1, func(uint64, []byte) error { return nil }); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Scan: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// concurrent appends batches from many goroutines: each batch stays together, and numbers are
// assigned once and in the order of the callbacks, which come before Append returns.
func concurrent(t *testing.T, open Open, commit wal.Commit) {
	const appenders, each, records = 8, 25, 3
	l := newLog(t, open, t.TempDir(), wal.Options{Commit: commit})
	var committed []uint64 // callbacks come one at a time
	var mu sync.Mutex
	batches := map[uint64]string{}
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for i := range each {
				name, called := fmt.Sprintf("%d-%d", a, i), uint64(0)
				b := slices.Repeat([][]byte{[]byte(name)}, records)
				first, err := l.Append(b, func(first uint64) { committed, called = append(committed, first), first })
				if err != nil || called != first {
					t.Errorf("Append returned %d, %v; the callback was called with %d", first, err, called)
					return
				}
				mu.Lock()
				batches[first] = name
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(committed) != appenders*each || !slices.IsSorted(committed) {
		t.Fatalf("%d callbacks of %d, in order: %v", len(committed), appenders*each, slices.IsSorted(committed))
	}
	for i, record := range read(t, l, 1) {
		first := uint64(i - i%records + 1)
		if batches[first] != string(record) {
			t.Fatalf("record %d is %q; the batch from %d on is %q", i+1, record, first, batches[first])
		}
	}
	mustBounds(t, l, 1, appenders*each*records+1)
}

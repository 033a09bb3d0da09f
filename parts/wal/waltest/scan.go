package waltest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"dyno/parts/wal"
)

// sizes appends records from empty to larger than any buffer, in one batch and separately.
func sizes(t *testing.T, open Open) {
	dir := t.TempDir()
	l := newLog(t, open, dir, wal.Options{})
	var all [][]byte
	for i, n := range []int{0, 1, 7, 8, 9, 255, 4095, 4096, 65536, 300_000, 3 << 20, 0} {
		all = append(all, bytes.Repeat([]byte{byte(i + 1)}, n))
	}
	mustAppend(t, l, all, 1)
	for i, record := range all {
		mustAppend(t, l, [][]byte{record}, uint64(len(all)+i+1))
	}
	many := make([][]byte, 20_000)
	mustAppend(t, l, many, uint64(2*len(all)+1))
	for range 2 {
		got := read(t, l, 1)
		if len(got) != 2*len(all)+len(many) {
			t.Fatalf("%d records, want %d", len(got), 2*len(all)+len(many))
		}
		for i := range 2 * len(all) {
			if !bytes.Equal(got[i], all[i%len(all)]) {
				t.Fatalf("record %d of %d bytes came as %d bytes, or other ones", i+1, len(all[i%len(all)]), len(got[i]))
			}
		}
		mustClose(t, l)
		l = newLog(t, open, dir, wal.Options{})
	}
}

func scans(t *testing.T, open Open) {
	const n = 3000
	l := newLog(t, open, t.TempDir(), wal.Options{})
	for i := 1; i <= n; i += 10 {
		mustAppend(t, l, batch(i, 10), uint64(i))
	}
	for _, from := range []int{1, 2, 9, 10, 11, 777, 1500, n - 1, n, n + 1} {
		mustRead(t, l, from, n+1)
	}
	if got := read(t, l, n+100); len(got) != 0 {
		t.Fatalf("%d records beyond the end", len(got))
	}
	mustRead(t, l, 1, n+1)
	visited := 0
	if err := l.Scan(0, func(uint64, []byte) error { visited++; return nil }); err != nil || visited != n {
		t.Fatalf("Scan from 0: %d records, %v; want it to begin with 1", visited, err)
	}
}

// beside reads while other goroutines append and trim: every reader sees every record once and in
// order, or gets a TrimmedError, and sees no record before its callback.
func beside(t *testing.T, open Open, commit wal.Commit) {
	const n = 200
	l := newLog(t, open, t.TempDir(), wal.Options{Commit: commit})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= n; i += 2 {
			if _, err := l.Append(batch(i, 2), nil); err != nil {
				t.Errorf("appending %d: %v", i, err)
				return
			}
			if i%50 == 1 {
				if err := l.Trim(uint64(max(i-25, 1))); err != nil {
					t.Errorf("trimming at %d: %v", i, err)
				}
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for at := uint64(1); at <= n && !t.Failed(); {
				err := l.Scan(at, func(seq uint64, record []byte) error {
					if seq != at || !bytes.Equal(record, numbered(int(seq))) {
						return fmt.Errorf("record %d came as %d: %.40q", at, seq, record)
					}
					at++
					return nil
				})
				var trimmed *wal.TrimmedError
				if errors.As(err, &trimmed) && trimmed.First > at {
					at = trimmed.First
				} else if err != nil {
					t.Errorf("Scan: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func lazily(t *testing.T, open Open, commit wal.Commit) {
	dir := t.TempDir()
	l := newLog(t, open, dir, wal.Options{Commit: commit})
	var committed []uint64
	then := func(first uint64) { committed = append(committed, first) }
	for i := 1; i < 30; i += 3 {
		if err := l.AppendAsync(batch(i, 2), then); err != nil {
			t.Fatal(err)
		}
		if i == 16 {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			if len(committed) != 11 {
				t.Fatalf("%d callbacks after Sync, want 11", len(committed))
			}
		}
		if first, err := l.Append(batch(i+2, 1), then); err != nil || first != uint64(i+2) {
			t.Fatalf("Append after AppendAsync gave %d, %v", first, err)
		}
	}
	if err := l.AppendAsync(batch(31, 3), then); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	if len(committed) != 21 || committed[20] != 31 {
		t.Fatalf("callbacks: %v", committed)
	}
	l = newLog(t, open, dir, wal.Options{})
	mustRead(t, l, 1, 34)
}

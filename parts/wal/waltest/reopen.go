package waltest

import (
	"errors"
	"testing"

	"dyno/parts/wal"
)

func remembers(t *testing.T, open Open) {
	dir := t.TempDir()
	for i := 1; i < 40; i += 4 {
		l := newLog(t, open, dir, wal.Options{})
		mustBounds(t, l, 1, uint64(i))
		mustRead(t, l, 1, i)
		mustAppend(t, l, batch(i, 3), uint64(i))
		mustAppend(t, l, batch(i+3, 1), uint64(i+3))
		mustClose(t, l)
	}
}

func trims(t *testing.T, open Open) {
	dir := t.TempDir()
	l := newLog(t, open, dir, wal.Options{})
	mustAppend(t, l, batch(1, 100), 1)
	mustAppend(t, l, batch(101, 100), 101)
	if err := l.Trim(51); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		first, next := l.Bounds()
		if first > 51 || next != 201 {
			t.Fatalf("Bounds are %d, %d after Trim(51) of 200 records", first, next)
		}
		mustRead(t, l, 51, 201)
		var trimmed *wal.TrimmedError
		if first > 1 {
			if err := l.Scan(first-1, func(uint64, []byte) error { return nil }); !errors.As(err, &trimmed) || trimmed.First != first {
				t.Fatalf("Scan before %d: %v", first, err)
			}
		}
		mustClose(t, l)
		l = newLog(t, open, dir, wal.Options{})
	}
	mustAppend(t, l, batch(201, 1), 201)
	mustRead(t, l, 51, 202)
}

// trimsAll removes all records and opens again: the numbers continue.
func trimsAll(t *testing.T, open Open) {
	dir := t.TempDir()
	next := uint64(1)
	for range 4 {
		l := newLog(t, open, dir, wal.Options{})
		if _, n := l.Bounds(); n != next {
			t.Fatalf("next is %d after a restart, want %d", n, next)
		}
		if err := l.Trim(next); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, batch(int(next), 3), next)
		next += 3
		if err := l.Trim(next + 1000); err != nil { // beyond the end: all records
			t.Fatal(err)
		}
		if first, n := l.Bounds(); first > n || n != next {
			t.Fatalf("Bounds are %d, %d; next should be %d", first, n, next)
		}
		mustClose(t, l)
	}
}

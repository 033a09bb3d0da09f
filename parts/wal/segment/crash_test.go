package segment_test

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"

	"dyno/parts/vfs/faultdisk"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"

	"pgregory.net/rapid"
)

// quiet is the logger of tests that damage files on purpose.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// TestSurvives runs random operations on a disk that fails, fills up and loses power. Synced
// records stay. Of other records, only whole batches of the last, unfinished group may appear, no
// number is used twice, and the log continues once the disk works again.
func TestSurvives(t *testing.T) {
	for range 10 { // a hundred runs each: the rarer faults need some hundreds
		rapid.Check(t, survives)
	}
}

func survives(t *rapid.T) {
	m := &machine{disk: faultdisk.New(), bytes: rapid.Int64Range(1, 3000).Draw(t, "segment bytes"), first: 1}
	m.open(t)
	t.Repeat(map[string]func(*rapid.T){
		"write": m.write, "write again": m.write, "sync": m.sync, "sync again": m.sync, "trim": m.trim,
		"fail a sync":  func(t *rapid.T) { m.disk.FailSync(rapid.IntRange(1, 4).Draw(t, "n")) },
		"fail a write": func(t *rapid.T) { m.disk.FailWrite(rapid.IntRange(1, 3).Draw(t, "n")) },
		"fill": func(t *rapid.T) {
			m.disk.Full(rapid.OneOf(rapid.Just(int64(-1)), rapid.Int64Range(0, 3000)).Draw(t, "bytes"))
		},
		"crash": m.crash, "restart": m.restart, "": m.check,
	})
	m.restart(t)
	m.write(t)
	if m.sync(t); len(m.pending) > 0 {
		t.Fatal("the log did not go on though nothing failed any more")
	}
	m.check(t)
}

// machine is a log and its expected contents.
type machine struct {
	disk    *faultdisk.Disk
	bytes   int64
	files   *segment.Files
	stable  []string     // synced records, the first with number first
	pending [][]string   // batches written since
	undone  [][][]string // failed batches since the last successful Write; any may appear after stable
	first   uint64
	made    uint64 // records so far; each differs from all others
}

func (m *machine) open(t *rapid.T) {
	files, err := segment.Open("/data/log", segment.Options{FS: m.disk, SegmentBytes: m.bytes, Log: quiet})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	m.files = files
}

func (m *machine) written() []string {
	return append(slices.Clip(m.stable), slices.Concat(m.pending...)...)
}

func (m *machine) batches(t *rapid.T) (batches [][][]byte, named [][]string) {
	for range rapid.IntRange(1, 3).Draw(t, "batches") {
		var batch [][]byte
		var names []string
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			m.made++
			record := binary.BigEndian.AppendUint64(nil, m.made)
			record = append(record, make([]byte, rapid.SampledFrom([]int{0, 5, 100, 700}).Draw(t, "bytes"))...)
			batch, names = append(batch, record), append(names, string(record))
		}
		batches, named = append(batches, batch), append(named, names)
	}
	return batches, named
}

func (m *machine) write(t *rapid.T) {
	batches, named := m.batches(t)
	switch err := m.files.Write(batches); {
	case err == nil:
		m.pending, m.undone = append(m.pending, named...), nil
	case errors.Is(err, wal.ErrFailed):
		if len(m.pending) > 0 {
			m.undone, m.pending = append(m.undone, append(m.pending, named...)), nil
		}
	default: // the repair has synced what was there before
		m.stable, m.pending, m.undone = m.written(), nil, append(m.undone, named)
	}
}

func (m *machine) sync(*rapid.T) {
	if err := m.files.Sync(); err == nil {
		m.stable, m.pending = m.written(), nil
		return
	}
	if len(m.pending) > 0 {
		m.undone, m.pending = append(m.undone, m.pending), nil
	}
}

func (m *machine) trim(t *rapid.T) {
	next := m.first + uint64(len(m.written()))
	before := rapid.Uint64Range(1, next+1).Draw(t, "before")
	_ = m.files.Trim(before) // it may fail; it must not remove too much
	first, _ := m.files.Bounds()
	if first < m.first || first > min(max(before, m.first), next) {
		t.Fatalf("the first number is %d; it was %d before Trim(%d)", first, m.first, before)
	}
	if first > m.first+uint64(len(m.stable)) { // it has synced in order to trim the latest records
		m.stable, m.pending = m.written(), nil
	}
	m.stable, m.first = m.stable[first-m.first:], first
}

func (m *machine) restart(t *rapid.T) {
	m.disk.FailSync(0)
	m.disk.FailWrite(0)
	m.disk.Full(-1)
	if err := m.files.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	m.open(t)
	got := m.read(t)
	if errors.Is(m.files.Sync(), wal.ErrFailed) {
		t.Fatal("failed just after Open")
	}
	m.settle(t, got)
}

// crash cuts the power. A trimmed segment may reappear.
func (m *machine) crash(t *rapid.T) {
	m.disk = m.disk.Crash(rapid.Uint64().Draw(t, "seed"))
	m.open(t)
	if first, _ := m.files.Bounds(); first < m.first {
		if err := m.files.Trim(m.first); err != nil {
			t.Fatal(err)
		}
	}
	m.settle(t, m.read(t))
}

// settle checks that got is the expected records, followed by whole batches that may be there.
func (m *machine) settle(t *rapid.T, got []string) {
	if len(got) < len(m.stable) || !slices.Equal(got[:len(m.stable)], m.stable) {
		t.Fatalf("%d records are there, not the %d that were synced", len(got), len(m.stable))
	}
	rest := got[len(m.stable):]
	if !prefix(rest, m.pending) && !slices.ContainsFunc(m.undone, func(batches [][]string) bool { return prefix(rest, batches) }) {
		t.Fatalf("after %d synced records there are %d others, which are no whole batches", len(m.stable), len(got)-len(m.stable))
	}
	m.stable, m.pending, m.undone = got, nil, nil
}

// prefix reports whether records are those of the first n batches, for any n from 0 to all.
func prefix(records []string, batches [][]string) bool {
	for _, batch := range batches {
		if len(records) == 0 {
			break
		}
		if len(records) < len(batch) || !slices.Equal(records[:len(batch)], batch) {
			return false
		}
		records = records[len(batch):]
	}
	return len(records) == 0
}

func (m *machine) read(t *rapid.T) (records []string) {
	at := m.first
	err := m.files.Scan(at, func(seq uint64, record []byte) error {
		if seq != at {
			t.Fatalf("record %d came instead of %d", seq, at)
		}
		at++
		records = append(records, string(record))
		return nil
	})
	if err != nil {
		t.Fatalf("Scan: %v", err)
	}
	if _, next := m.files.Bounds(); next != at {
		t.Fatalf("the next number is %d, after records up to %d", next, at)
	}
	return records
}

func (m *machine) check(t *rapid.T) {
	if got, want := m.read(t), m.written(); !slices.Equal(got, want) {
		t.Fatalf("%d records can be read, %d were written", len(got), len(want))
	}
}

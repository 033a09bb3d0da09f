package waltest

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"dyno/parts/quicktest"
	"dyno/parts/wal"

	"pgregory.net/rapid"
)

// agrees runs random operations, closing and opening in between, and compares with a slice.
func agrees(t *testing.T, open Open) {
	root := t.TempDir()
	quicktest.Checks(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		m := &model{dir: dir, t: t, open: open, options: wal.Options{Commit: rapid.SampledFrom([]wal.Commit{wal.PerAppend, wal.Group}).Draw(rt, "commit")}}
		m.log = wal.New(open(t, dir), m.options)
		defer func() { m.log.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"append": m.append, "lazily": m.lazily, "sync": m.sync, "scan": m.scan, "trim": m.trim, "reopen": m.reopen,
		})
		m.sync(rt)
		m.check(rt, m.first)
	})
}

// model is a log as a slice.
type model struct {
	t       testing.TB
	open    Open
	dir     string
	options wal.Options
	log     *wal.Log
	records [][]byte // the first has number 1
	first   uint64   // records before it were trimmed
}

func (m *model) draw(t *rapid.T) [][]byte {
	record := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.Map(rapid.IntRange(0, 9000), func(n int) []byte { return make([]byte, n) }))
	b := rapid.SliceOfN(record, 1, 5).Draw(t, "batch")
	m.records = append(m.records, b...)
	return b
}

func (m *model) append(t *rapid.T) {
	b := m.draw(t)
	want := uint64(len(m.records) - len(b) + 1)
	if first, err := m.log.Append(b, nil); err != nil || first != want {
		t.Fatalf("Append gave %d, %v; want %d", first, err, want)
	}
}

func (m *model) lazily(t *rapid.T) {
	if err := m.log.AppendAsync(m.draw(t), nil); err != nil {
		t.Fatal(err)
	}
}

func (m *model) sync(t *rapid.T) {
	if err := m.log.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, next := m.log.Bounds(); next != uint64(len(m.records)+1) {
		t.Fatalf("next is %d after Sync, want %d", next, len(m.records)+1)
	}
}

func (m *model) scan(t *rapid.T) {
	m.sync(t)
	m.check(t, rapid.Uint64Range(1, uint64(len(m.records)+2)).Draw(t, "from"))
}

func (m *model) check(t *rapid.T, from uint64) {
	from = max(from, 1)
	at := from
	err := m.log.Scan(from, func(seq uint64, record []byte) error {
		if seq != at || !bytes.Equal(record, m.records[seq-1]) {
			t.Fatalf("record %d came as %d, or with other bytes", at, seq)
		}
		at++
		return nil
	})
	var trimmed *wal.TrimmedError
	if errors.As(err, &trimmed) && from < m.first && trimmed.First <= m.first {
		return
	}
	if end := uint64(len(m.records) + 1); err != nil || at != max(end, from) {
		t.Fatalf("Scan from %d ended before %d, want %d: %v", from, at, end, err)
	}
}

func (m *model) trim(t *rapid.T) {
	m.sync(t)
	before := rapid.Uint64Range(1, uint64(len(m.records)+2)).Draw(t, "before")
	if err := m.log.Trim(before); err != nil {
		t.Fatal(err)
	}
	m.first = max(m.first, min(before, uint64(len(m.records)+1)))
	if first, _ := m.log.Bounds(); first > max(m.first, 1) {
		t.Fatalf("Trim(%d) took everything before %d", before, first)
	}
}

func (m *model) reopen(t *rapid.T) {
	if err := m.log.Close(); err != nil {
		t.Fatal(err)
	}
	m.log = wal.New(m.open(m.t, m.dir), m.options)
	if _, next := m.log.Bounds(); next != uint64(len(m.records)+1) {
		t.Fatalf("next is %d when opened again, want %d", next, len(m.records)+1)
	}
}

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"dyno/bench/peers/callers"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"

	"github.com/cockroachdb/pebble/v2"
	tidwall "github.com/tidwall/wal"
)

// inProcess is a log of this process.
type inProcess struct {
	write func(record []byte) error // returns when the record is durable
	close func() error
}

// local opens a log of this process, to which all writers append.
func local(open func(dir string) (inProcess, error)) func(context.Context, options) (opened, error) {
	return func(_ context.Context, o options) (opened, error) {
		if o.batch != 1 {
			return opened{}, fmt.Errorf("--batch %d: only the servers append several records together", o.batch)
		}
		l, err := open(o.dir)
		if err != nil {
			return opened{}, err
		}
		record := callers.Records(1)[0]
		writer := func() (func() error, error) { return func() error { return l.write(record) }, nil }
		return opened{writer: writer, close: l.close}, nil
	}
}

// openWAL opens parts/wal, which makes one fsync for all that wait.
func openWAL(dir string) (inProcess, error) {
	b, err := segment.Open(dir, segment.Options{})
	if err != nil {
		return inProcess{}, err
	}
	return grouped(b), nil
}

func grouped(b wal.Backend) inProcess {
	l := wal.New(b, wal.Options{Commit: wal.Group})
	return inProcess{func(record []byte) error { _, err := l.Append([][]byte{record}, nil); return err }, l.Close}
}

// openTidwall is tidwall/wal as its users use it: its Write syncs, and the caller holds a lock
// meanwhile.
func openTidwall(dir string) (inProcess, error) {
	l, err := tidwall.Open(dir, nil)
	if err != nil {
		return inProcess{}, err
	}
	var mu sync.Mutex
	next := uint64(0)
	return inProcess{func(record []byte) error {
		mu.Lock()
		defer mu.Unlock()
		next++
		return l.Write(next, record)
	}, l.Close}, nil
}

// openTidwallGroup gives tidwall/wal the group commit that it lacks: parts/wal over it.
func openTidwallGroup(dir string) (inProcess, error) {
	l, err := tidwall.Open(dir, nil)
	if err != nil {
		return inProcess{}, err
	}
	return grouped(&tidwallBackend{l: l, next: 1}), nil
}

// tidwallBackend is as much of a wal.Backend as appending takes.
type tidwallBackend struct {
	wal.Backend
	l     *tidwall.Log
	batch tidwall.Batch
	next  uint64
}

func (b *tidwallBackend) Write(batches [][][]byte) error {
	b.batch.Clear()
	for _, batch := range batches {
		for _, record := range batch {
			b.batch.Write(b.next, record)
			b.next++
		}
	}
	return b.l.WriteBatch(&b.batch) // it syncs
}

func (b *tidwallBackend) Sync() error              { return nil }
func (b *tidwallBackend) Bounds() (uint64, uint64) { return 1, b.next }
func (b *tidwallBackend) Close() error             { return b.l.Close() }

// openPebble opens pebble as its users use it: pebble itself groups concurrent commits.
func openPebble(dir string) (inProcess, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		return inProcess{}, err
	}
	var next atomic.Uint64
	return inProcess{func(record []byte) error {
		return db.Set(binary.BigEndian.AppendUint64(nil, next.Add(1)), record, pebble.Sync)
	}, db.Close}, nil
}

// quiet drops pebble's log, except the message that ends the process.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { pebble.DefaultLogger.Fatalf(format, args...) }

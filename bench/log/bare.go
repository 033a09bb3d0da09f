package main

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	tidwall "github.com/tidwall/wal"

	"encoding/binary"

	"dyno/parts/wal"
	"dyno/parts/wal/segment"
)

const (
	each  = wal.PerAppend
	group = wal.Group
)

// logOf measures a wal.Log.
func logOf(b wal.Backend, err error, e environment, commit wal.Commit) (*opened, error) {
	if err != nil {
		return nil, err
	}
	l := wal.New(b, wal.Options{Commit: commit})
	batch := records(e.batch, recordBytes)
	return &opened{
		caller: func(int) (func() error, error) {
			return func() error { _, err := l.Append(batch, nil); return err }, nil
		},
		close: l.Close,
	}, nil
}

func segmentLog(commit wal.Commit) func(context.Context, environment) (*opened, error) {
	return func(_ context.Context, e environment) (*opened, error) {
		b, err := segment.Open(e.dir, segment.Options{})
		return logOf(b, err, e, commit)
	}
}

// pebbleNative is pebble as its users use it: it groups concurrent commits by itself.
func pebbleNative(_ context.Context, e environment) (*opened, error) {
	db, err := pebble.Open(e.dir, &pebble.Options{Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		return nil, err
	}
	record := records(1, recordBytes)[0]
	var next atomic.Uint64
	return &opened{
		caller: func(int) (func() error, error) {
			return func() error {
				return db.Set(binary.BigEndian.AppendUint64(nil, next.Add(1)), record, pebble.Sync)
			}, nil
		},
		close: db.Close,
	}, nil
}

// quiet drops what pebble logs, but for what ends it.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { pebble.DefaultLogger.Fatalf(format, args...) }

// tidwallNative is tidwall/wal as its users use it: its Write syncs, and holds a lock meanwhile.
func tidwallNative(_ context.Context, e environment) (*opened, error) {
	l, err := tidwall.Open(e.dir, nil)
	if err != nil {
		return nil, err
	}
	record := records(1, recordBytes)[0]
	var mu sync.Mutex
	next := uint64(1)
	return &opened{
		caller: func(int) (func() error, error) {
			return func() error {
				mu.Lock()
				defer mu.Unlock()
				err := l.Write(next, record)
				next++
				return err
			}, nil
		},
		close: l.Close,
	}, nil
}

// tidwallGroup gives tidwall/wal the group commit that it has not: the log of this repository over it.
func tidwallGroup(_ context.Context, e environment) (*opened, error) {
	l, err := tidwall.Open(e.dir, nil)
	return logOf(&tidwallBackend{l: l, next: 1}, err, e, group)
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
	return b.l.WriteBatch(&b.batch) // and syncs
}

func (b *tidwallBackend) Sync() error              { return nil }
func (b *tidwallBackend) Bounds() (uint64, uint64) { return 1, b.next }
func (b *tidwallBackend) Close() error             { return b.l.Close() }

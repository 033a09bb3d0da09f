// Command logs lets writers append records of 256 bytes to a log in its own process, each on the
// disk before the append returns, and prints them as the windows of a job: parts/wal beside
// tidwall/wal and pebble.
//
//	logs --log wal --writers 64 --data DIR
//
// It is not for reading logs, nor for logs behind a network (see peers/redis, peers/nats). The
// writers have ended when it ends.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dyno/bench/peers/callers"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"

	"github.com/cockroachdb/pebble/v2"
	tidwall "github.com/tidwall/wal"
)

func main() {
	name := flag.String("log", "wal", "`name` of the log: "+strings.Join(names(), ", "))
	writers := flag.Int("writers", 64, "writers, each with one record after the other")
	dir := flag.String("data", "", "`folder` of the log, on the disk in question")
	flag.Parse()
	callers.Main("logs", func(ctx context.Context) error {
		open, ok := logs[*name]
		if !ok || *dir == "" {
			return fmt.Errorf("--log %q --data %q: there are the logs %s, and each needs a folder", *name, *dir, strings.Join(names(), ", "))
		}
		l, err := open(*dir)
		if err != nil {
			return err
		}
		record := callers.Records(1)[0]
		err = callers.Run(ctx, os.Stdout, *writers, 1, func(int) (func() error, error) {
			return func() error { return l.write(record) }, nil
		})
		return errors.Join(err, l.close())
	})
}

// opened is a log that is ready for writers.
type opened struct {
	write func(record []byte) error // returns when the record is durable
	close func() error
}

var logs = map[string]func(dir string) (opened, error){
	"wal":           segmentLog(wal.Group), // one fsync for all that wait
	"wal-each":      segmentLog(wal.PerAppend),
	"tidwall":       openTidwall,
	"tidwall-group": openTidwallGroup,
	"pebble":        openPebble,
}

func names() []string { return slices.Sorted(maps.Keys(logs)) }

func segmentLog(commit wal.Commit) func(string) (opened, error) {
	return func(dir string) (opened, error) {
		b, err := segment.Open(dir, segment.Options{})
		if err != nil {
			return opened{}, err
		}
		return logOver(b, commit), nil
	}
}

func logOver(b wal.Backend, commit wal.Commit) opened {
	l := wal.New(b, wal.Options{Commit: commit})
	return opened{func(record []byte) error { _, err := l.Append([][]byte{record}, nil); return err }, l.Close}
}

// openTidwall is tidwall/wal as its users use it: its Write syncs, and the caller holds a lock
// meanwhile.
func openTidwall(dir string) (opened, error) {
	l, err := tidwall.Open(dir, nil)
	if err != nil {
		return opened{}, err
	}
	var mu sync.Mutex
	next := uint64(0)
	return opened{func(record []byte) error {
		mu.Lock()
		defer mu.Unlock()
		next++
		return l.Write(next, record)
	}, l.Close}, nil
}

// openTidwallGroup gives tidwall/wal the group commit that it lacks: parts/wal over it.
func openTidwallGroup(dir string) (opened, error) {
	l, err := tidwall.Open(dir, nil)
	if err != nil {
		return opened{}, err
	}
	return logOver(&tidwallBackend{l: l, next: 1}, wal.Group), nil
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
func openPebble(dir string) (opened, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		return opened{}, err
	}
	var next atomic.Uint64
	return opened{func(record []byte) error {
		return db.Set(binary.BigEndian.AppendUint64(nil, next.Add(1)), record, pebble.Sync)
	}, db.Close}, nil
}

// quiet drops pebble's log, except the message that ends the process.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { pebble.DefaultLogger.Fatalf(format, args...) }

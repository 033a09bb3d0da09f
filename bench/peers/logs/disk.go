package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"dyno/bench/peers/callers"
	"dyno/parts/vfs"
)

// room is the size of a writer's part of the file, after which it overwrites its first records.
const room = 256 << 10

// openDisk is not a log, but what the disk can do without one: each writer writes its records to a
// part of its own in one file, with pwrite, and syncs them itself, with fdatasync. All blocks have
// been written before, so that no sync waits for the file system's journal.
//
// There are two limits. With a batch of one, the syncs of many writers overlap, as far as the file
// system and the disk let them: that is the most syncs that one file permits, not the most records,
// as a log may sync the records of many callers together. One writer with a batch of N writes N
// records and syncs them once: a log that N callers wait for comes near that if it has all of them
// in each sync, and exceeds it only if its syncs overlap.
func openDisk(_ context.Context, o options) (opened, error) {
	const most = room / callers.RecordBytes
	if o.writers < 1 || o.writers > most || o.batch < 1 || o.batch > most {
		return opened{}, fmt.Errorf("--writers %d, --batch %d: of the disk there are 1 to %d of each", o.writers, o.batch, most)
	}
	f, err := vfs.OS().Create(filepath.Join(o.dir, "disk"))
	if err != nil {
		return opened{}, err
	}
	zeros := make([]byte, room)
	for i := range o.writers {
		if _, err := f.WriteAt(zeros, int64(i)*room); err != nil {
			f.Close()
			return opened{}, err
		}
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return opened{}, err
	}
	batch := make([]byte, 0, o.batch*callers.RecordBytes)
	for _, record := range callers.Records(o.batch) {
		batch = append(batch, record...)
	}
	turns := room / int64(len(batch))
	var writers atomic.Int64
	writer := func() (func() error, error) {
		from, turn := (writers.Add(1)-1)*room, int64(0)
		return func() error {
			if _, err := f.WriteAt(batch, from+turn%turns*int64(len(batch))); err != nil {
				return err
			}
			turn++
			return f.Sync()
		}, nil
	}
	return opened{writer: writer, close: f.Close}, nil
}

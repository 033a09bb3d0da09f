package recording

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"dyno/parts/vfs"
	"dyno/parts/wal/segment/frame"
)

// Background does work later, that of a topic in its order. False: it has too much to do.
type Background interface {
	Try(topic string, do func()) bool
}

// file is where a recording goes: blocks are written in the background, one after another.
type file struct {
	background Background
	path       string
	log        *slog.Logger
	spare      chan []byte  // blocks to use again
	behind     atomic.Int32 // blocks that wait for the disk
	waiting    sync.WaitGroup
	failed     atomic.Bool

	// Those of the background, until nothing is waiting any more:
	err    error
	handle vfs.File
	seed   uint32
	number uint64 // of the last block
	size   int64  // of the whole blocks
	buffer []byte
}

// begin creates the file with its first block.
func begin(disk vfs.FS, background Background, log *slog.Logger, path string, header []byte) (*file, error) {
	handle, err := disk.Create(path)
	if err != nil {
		return nil, err
	}
	var salt [8]byte
	rand.Read(salt[:])
	h := frame.Header{First: 1, Salt: binary.LittleEndian.Uint64(salt[:])}
	f := &file{background: background, path: path, log: log, spare: make(chan []byte, queued), handle: handle, seed: h.Seed(), size: frame.HeaderBytes}
	for len(header)%frame.Alignment != 0 {
		header = append(header, ' ')
	}
	_, err = handle.WriteAt(h.Encode(), 0)
	if err := errors.Join(err, f.append(header), disk.SyncDir(filepath.Dir(path))); err != nil {
		handle.Close()
		return nil, err
	}
	return f, nil
}

// leave leaves a block to the background. False: the disk is too far behind.
func (f *file) leave(block []byte) bool {
	if f.behind.Load() == queued {
		return false
	}
	f.behind.Add(1)
	f.waiting.Add(1)
	left := f.background.Try(f.path, func() {
		defer f.waiting.Done()
		f.write(block)
		f.behind.Add(-1)
	})
	if !left {
		f.waiting.Done()
	}
	return left
}

func (f *file) write(block []byte) {
	if f.err == nil {
		f.err = f.append(block)
		f.failed.Store(f.err != nil)
	}
	select {
	case f.spare <- block[:0]:
	default:
	}
}

// finish waits for the blocks, writes the last one if there is any, marks the end with the reason
// for an early one, and makes all of it durable.
func (f *file) finish(last []byte, reason string) error {
	f.waiting.Wait()
	if last != nil {
		f.write(last)
	}
	if f.err == nil && reason != "" {
		f.err = errors.New(reason)
	}
	if f.err != nil {
		f.log.Warn("a recording ends before its room does", "file", f.path, "error", f.err)
		reason = f.err.Error()
	}
	err := errors.Join(f.append(ending(reason)), f.handle.Sync(), f.handle.Close())
	if f.err = cmp.Or(f.err, err); f.err != nil {
		return fmt.Errorf("recording to %s: %w", f.path, f.err)
	}
	return nil
}

// append writes a block behind the others, or nothing of it.
func (f *file) append(block []byte) error {
	n := f.number + 1
	f.buffer = frame.Append(f.buffer[:0], f.seed, frame.Record{Number: n, Group: n}, block)
	_, err := f.handle.WriteAt(f.buffer, f.size)
	if err != nil {
		return errors.Join(err, f.handle.Truncate(f.size))
	}
	f.number, f.size = n, f.size+int64(len(f.buffer))
	return nil
}

package recording

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"dyno/parts/vfs"
	"dyno/parts/wal/segment/frame"
)

// file is where a recording goes: its goroutine writes blocks until there are no more.
type file struct {
	blocks chan []byte
	spare  chan []byte // blocks to use again
	failed atomic.Bool
	done   chan struct{} // closed when the goroutine has ended
	reason string        // of an early end; set before blocks is closed
	err    error         // read after done

	path   string
	log    *slog.Logger
	handle vfs.File
	seed   uint32
	number uint64 // of the last block
	size   int64  // of the whole blocks
	buffer []byte
}

// begin creates the file with its first block, and starts the goroutine.
func begin(disk vfs.FS, log *slog.Logger, path string, header []byte) (*file, error) {
	handle, err := disk.Create(path)
	if err != nil {
		return nil, err
	}
	var salt [8]byte
	rand.Read(salt[:])
	h := frame.Header{First: 1, Salt: binary.LittleEndian.Uint64(salt[:])}
	f := &file{
		blocks: make(chan []byte, queued), spare: make(chan []byte, queued), done: make(chan struct{}),
		path: path, log: log, handle: handle, seed: h.Seed(), size: frame.HeaderBytes,
	}
	for len(header)%frame.Alignment != 0 {
		header = append(header, ' ')
	}
	_, err = handle.WriteAt(h.Encode(), 0)
	if err := errors.Join(err, f.append(header), disk.SyncDir(filepath.Dir(path))); err != nil {
		handle.Close()
		return nil, err
	}
	go f.run()
	return f, nil
}

func (f *file) run() {
	defer close(f.done)
	for b := range f.blocks {
		if f.err == nil {
			f.err = f.append(b)
			f.failed.Store(f.err != nil)
		}
		select {
		case f.spare <- b[:0]:
		default:
		}
	}
	if f.err == nil && f.reason != "" {
		f.err = errors.New(f.reason)
	}
	if f.err != nil {
		f.log.Warn("a recording ends before its room does", "file", f.path, "error", f.err)
	}
	f.finish()
}

// finish marks the end, and makes all of it durable.
func (f *file) finish() {
	reason := ""
	if f.err != nil {
		reason = f.err.Error()
	}
	err := errors.Join(f.append(ending(reason)), f.handle.Sync(), f.handle.Close())
	if f.err == nil {
		f.err = err
	}
	if f.err != nil {
		f.err = fmt.Errorf("recording to %s: %w", f.path, f.err)
	}
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

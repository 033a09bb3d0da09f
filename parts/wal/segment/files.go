package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dyno/parts/vfs"
	"dyno/parts/wal"
)

// Options of Files. The zero value has the defaults given here.
type Options struct {
	SegmentBytes int64  // size from which a segment is followed by another; 0 means 64 MiB
	FS           vfs.FS // nil means the operating system's
	// Reserve is the bytes set aside in a file, for writes to a full disk; 0 means none.
	Reserve int64
	// Exists means that the log was created before: finding no segments is then an error.
	Exists bool
	// AcceptDamage lets Open continue behind the lost records where it would return wal.ErrDamaged.
	AcceptDamage bool
	Log          *slog.Logger // receives reports of damage and of cut-off bytes; nil means slog.Default
}

// Files is a wal.Backend in files. wal.Backend defines which methods may run concurrently.
type Files struct {
	dir     string
	fs      vfs.FS
	log     *slog.Logger
	limit   int64 // Options.SegmentBytes
	damages damages
	reserve int64       // Options.Reserve
	exists  bool        // Options.Exists
	accept  bool        // Options.AcceptDamage
	reach   uint64      // during Open: records before this number existed once
	low     atomic.Bool // free space was too small for the last request

	syncedFile vfs.File

	mu       sync.RWMutex
	segments []*segment // oldest first; the last receives new records
	first    uint64     // number of the first record kept; records between it and the first segment are missing
	next     uint64     // number of the next record
	closed   bool

	w writer
}

var _ wal.Backend = (*Files)(nil)

// Open opens the log in dir, which it creates if necessary. It reads the last segment, cuts off
// what was unfinished when the process or the machine stopped, and syncs the rest.
func Open(dir string, o Options) (*Files, error) {
	f := &Files{dir: dir, fs: o.FS, log: o.Log, limit: o.SegmentBytes, reserve: o.Reserve, exists: o.Exists, accept: o.AcceptDamage}
	if f.fs == nil {
		f.fs = vfs.OS()
	}
	if f.log == nil {
		f.log = slog.Default()
	}
	if f.limit <= 0 {
		f.limit = 64 << 20
	}
	f.damages.known = map[place]*wal.DamageError{}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("opening the log in %s: %w", dir, err)
	}
	return f, nil
}

func (f *Files) open() error {
	if err := f.fs.MkdirAll(f.dir); err != nil {
		return err
	}
	if err := f.list(); err != nil {
		return err
	}
	if err := f.fs.SyncDir(f.dir); err != nil {
		return err
	}
	first, reach, err := f.readSynced()
	if err != nil {
		return err
	}
	f.reach = max(reach, 1)
	if err := f.findLast(); err != nil {
		return errors.Join(err, f.syncedFile.Close())
	}
	if f.first = f.segments[0].first; first > 0 && first < f.first {
		f.log.Error("the log is damaged: segments are missing at its beginning", "log", f.dir, "from", first, "next", f.first)
		f.first = first
	}
	_ = f.noteSynced() // on a full disk there is little to record
	f.prepare()
	f.replenish()
	return nil
}

// findLast prepares the last segment for writing, or starts the first.
func (f *Files) findLast() error {
	for len(f.segments) > 0 {
		err := f.recover(f.last())
		if !errors.Is(err, wal.ErrDamaged) || !f.accept {
			return err
		}
		f.reach = max(f.reach, f.last().first)
		if err := f.putAway(f.last(), err); err != nil {
			return err
		}
		f.exists, f.segments = true, f.segments[:len(f.segments)-1]
	}
	if f.exists || f.reach > 1 {
		err := fmt.Errorf("%w: its segments are missing (*%s), and with them the records before %d", wal.ErrDamaged, suffix, f.reach)
		if !f.accept {
			return err
		}
		f.log.Error("the log begins anew", "log", f.dir, "next", f.reach, "error", err)
	}
	f.next, f.w.syncedNext = f.reach, f.reach
	return f.begin()
}

// list finds the segments by their names, and removes an unfinished one.
func (f *Files) list() error {
	entries, err := f.fs.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name)
		if e.Name == newName {
			if err := f.fs.Remove(path); err != nil {
				return err
			}
			continue
		}
		f.w.reserved = f.w.reserved || e.Name == reserveName && e.Size > 0 // empty: the process ended before it was allocated
		first, ok := parseName(e.Name)
		if !ok && strings.HasSuffix(e.Name, suffix) {
			return fmt.Errorf("%s is not named like a segment of a log: move it elsewhere", path)
		}
		if ok {
			f.segments = append(f.segments, &segment{first: first, path: path, size: e.Size, end: -1})
		}
	}
	slices.SortFunc(f.segments, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	return nil
}

// Bounds implements wal.Backend.
func (f *Files) Bounds() (first, next uint64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.first, f.next
}

// Size implements wal.Backend. Allocated but unwritten bytes do not count.
func (f *Files) Size() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var sum int64
	for _, s := range f.segments {
		s.mu.Lock()
		sum += s.size
		s.mu.Unlock()
	}
	return sum
}

// Trim implements wal.Backend: it removes whole segments. When no record should be kept, it starts
// an empty segment, whose name keeps the next number.
func (f *Files) Trim(before uint64) error {
	if err := f.usable(); err != nil {
		return err
	}
	if last := f.last(); before >= f.next && last.first < f.next && f.w.synced == f.w.end {
		if err := f.begin(); err != nil && !errors.Is(err, wal.ErrFull) {
			return err
		}
	}
	for {
		// One at a time: after a crash, an older segment must not reappear without the one after it.
		if f.w.trimmed {
			if err := f.fs.SyncDir(f.dir); err != nil {
				return fmt.Errorf("trimming the log: %w", err)
			}
			f.w.trimmed = false
		}
		all := f.segments
		if len(all) == 1 || all[1].first > before {
			f.prepare()
			f.replenish()
			return nil
		}
		f.setSegments(all[1:], all[1].first) // first, so that no reader looks for a removed segment
		err := errors.Join(f.noteSynced(), f.syncedFile.Sync())
		// An empty file takes no space, but says nothing after a crash before its next update.
		if vfs.Full(err) {
			err = errors.Join(f.syncedFile.Truncate(0), f.syncedFile.Sync())
		}
		if err == nil {
			err = f.fs.Remove(all[0].path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.setSegments(all, all[0].first)
			return fmt.Errorf("trimming the log: %w", err)
		}
		f.w.trimmed = true
		f.low.Store(false)
	}
}

// setSegments replaces the list and the first number; readers continue with their old list.
func (f *Files) setSegments(list []*segment, first uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.segments, f.first = list, first
}

// last returns the segment that receives new records. Only the writer may call it.
func (f *Files) last() *segment { return f.segments[len(f.segments)-1] }

// Close frees unused allocated space, and syncs. A running Scan may finish.
func (f *Files) Close() error {
	if errors.Is(f.usable(), wal.ErrClosed) {
		return nil
	}
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	var err error
	if f.w.failed == nil && !f.w.over {
		if err = errors.Join(f.w.file.Truncate(f.w.end), f.w.file.Sync()); err == nil {
			f.w.syncedNext = f.next
			_ = f.noteSynced()
		}
	}
	if f.w.spare != nil {
		err = errors.Join(err, f.w.spare.Close())
	}
	return errors.Join(err, f.w.file.Close(), f.syncedFile.Close())
}

// usable returns the reason why the log accepts no more records, or nil.
func (f *Files) usable() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return wal.ErrClosed
	}
	return f.w.failed
}

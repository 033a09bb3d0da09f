package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dyno/parts/vfs"
	"dyno/parts/wal"
)

const (
	quarantine = "quarantine" // folder of damaged bytes
	// maxDamages limits how many damaged places are remembered and copied: damage is rare, and
	// otherwise a thousand are enough to see what is wrong.
	maxDamages = 1000
	// maxUnfinished limits how many copies of unfinished appends are kept, in addition to those.
	maxUnfinished = 100
	unfinished    = "-unfinished" // suffix of their names
	copying       = "copying.tmp" // a copy that is not complete yet
)

// damage is a range of bytes that are not valid records.
type damage struct {
	from, to mark
}

type place struct {
	path string
	off  int64
}

type damages struct {
	mu    sync.Mutex
	known map[place]*wal.DamageError
}

// Quarantined lists the damage that Open (in the last segment) and readers have found, by number.
func (f *Files) Quarantined() []*wal.DamageError {
	f.damages.mu.Lock()
	defer f.damages.mu.Unlock()
	var list []*wal.DamageError
	for _, d := range f.damages.known {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *wal.DamageError) int { return cmp.Compare(a.From, b.From) })
	return list
}

// add reports damage: the first time it is logged and its bytes are copied.
func (d *damages) add(f *Files, s *segment, file vfs.File, found damage) *wal.DamageError {
	e, _ := d.keep(found, s, func() (string, error) {
		if len(d.known) >= maxDamages {
			return "", errors.New("too much is damaged to copy it")
		}
		return f.copyOut(s, file, found.from.off, found.to.off, "")
	}, f)
	return e
}

// addTail is add for damage that will be cut off: it returns an error if it was not copied.
func (d *damages) addTail(f *Files, s *segment, file vfs.File, found damage) error {
	_, err := d.keep(found, s, func() (string, error) { return f.copyTail(s, file, found.from.off, found.to.off, "") }, f)
	if err != nil {
		err = fmt.Errorf("bytes %d to %d are damaged, and were not cut off, since they cannot be copied first: %w; make room or repair the folder, then start again",
			found.from.off, found.to.off, err)
	}
	return err
}

// keep records damage. copyOut copies its bytes.
func (d *damages) keep(found damage, s *segment, copyOut func() (string, error), f *Files) (*wal.DamageError, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := place{s.path, found.from.off}
	if known := d.known[at]; known != nil && known.Next == found.to.number {
		return known, nil
	}
	where := fmt.Sprintf("%s, bytes %d to %d", s.path, found.from.off, found.to.off)
	var err error
	if found.from.off == found.to.off {
		where += ": they are missing"
	} else if to, e := copyOut(); e != nil {
		err = e
		where += fmt.Sprintf("; copying them failed: %v", err)
	} else {
		where += ", copied to " + to
	}
	e := &wal.DamageError{From: found.from.number, Next: found.to.number, Where: where}
	if len(d.known) < maxDamages {
		d.known[at] = e
		f.log.Error("the log is damaged", "from", e.From, "next", e.Next, "where", where)
	}
	return e, err
}

// whole reports a segment that cannot be read at all.
func (d *damages) whole(f *Files, x extent, from uint64, cause error) *wal.DamageError {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := place{x.path, 0}
	if d.known[at] == nil && len(d.known) < maxDamages {
		d.known[at] = &wal.DamageError{From: x.first, Next: x.next, Where: fmt.Sprintf("%v; the file was left where it is", cause)}
		f.log.Error("the log is damaged", "from", x.first, "next", x.next, "where", d.known[at].Where)
	}
	return &wal.DamageError{From: from, Next: x.next, Where: cause.Error()}
}

// putAway moves a segment that cannot be read at all to the quarantine.
func (f *Files) putAway(s *segment, cause error) error {
	dir, err := f.quarantine()
	if err != nil {
		return err
	}
	have, err := f.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	base := filepath.Base(s.path)
	name := base
	for n := 2; slices.ContainsFunc(have, func(e vfs.Entry) bool { return e.Name == name }); n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	to := filepath.Join(dir, name)
	f.log.Error("the log is damaged; a segment is given up", "error", cause, "moved to", to)
	if err := f.fs.Rename(s.path, to); err != nil {
		return err
	}
	return errors.Join(f.fs.SyncDir(dir), f.fs.SyncDir(f.dir))
}

// quarantine creates the folder of damaged bytes and returns its path, unless it is full.
func (f *Files) quarantine() (dir string, err error) {
	dir = filepath.Join(f.dir, quarantine)
	if err := errors.Join(f.fs.MkdirAll(dir), f.fs.SyncDir(f.dir)); err != nil {
		return "", err
	}
	have, err := f.fs.ReadDir(dir)
	if err != nil {
		return "", err
	}
	have = slices.DeleteFunc(have, func(e vfs.Entry) bool { return e.Name == copying || strings.HasSuffix(e.Name, unfinished) })
	if len(have) >= maxDamages {
		return "", fmt.Errorf("%s holds %d files; see to them and move them elsewhere", dir, len(have))
	}
	return dir, nil
}

// forgetUnfinished removes the oldest copies of unfinished, never acknowledged appends.
func (f *Files) forgetUnfinished(dir string) error {
	have, err := f.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	have = slices.DeleteFunc(have, func(e vfs.Entry) bool { return !strings.HasSuffix(e.Name, unfinished) })
	slices.SortFunc(have, func(a, b vfs.Entry) int { return cmp.Compare(a.Name, b.Name) })
	for len(have) > maxUnfinished {
		if err := f.fs.Remove(filepath.Join(dir, have[0].Name)); err != nil {
			return err
		}
		have = have[1:]
	}
	return nil
}

// copyOut copies bytes of a segment to the quarantine, all or nothing, and returns the path.
func (f *Files) copyOut(s *segment, file vfs.File, from, to int64, suffix string) (string, error) {
	dir, err := f.quarantine()
	if err != nil {
		return "", err
	}
	begun := filepath.Join(dir, copying)
	out, err := f.fs.Create(begun)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.NewOffsetWriter(out, 0), io.NewSectionReader(file, from, to-from))
	if err == nil {
		err = out.Sync()
	}
	err = errors.Join(err, out.Close())
	path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", filepath.Base(s.path), from, suffix))
	if err == nil {
		err = f.fs.Rename(begun, path)
	}
	if err != nil {
		return "", errors.Join(err, f.fs.Remove(begun))
	}
	return path, f.fs.SyncDir(dir)
}

// copyTail is copyOut while the log is opened; it may use the reserve.
func (f *Files) copyTail(s *segment, file vfs.File, from, to int64, suffix string) (string, error) {
	path, err := f.copyOut(s, file, from, to, suffix)
	if vfs.Full(err) && f.release() {
		path, err = f.copyOut(s, file, from, to, suffix)
	}
	return path, err
}

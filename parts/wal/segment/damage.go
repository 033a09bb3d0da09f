package segment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"dyno/parts/wal"
)

const (
	quarantine = "quarantine" // folder of damaged bytes
	// maxDamages bounds how many places are remembered and copied: damage is rare, and where it is not,
	// a thousand are enough to see what is going on.
	maxDamages = 1000
)

// damage is bytes that are not the records they should be.
type damage struct {
	from, to mark
}

// place is where damage lies.
type place struct {
	path string
	off  int64
}

// damages is the damage found since Open.
type damages struct {
	mu    sync.Mutex
	known map[place]*wal.DamageError
}

// Quarantined lists the damage found since Open, by number: by Open itself in the last segment, elsewhere by
// whoever read it.
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

// add reports damage that is met: the first time it is logged and its bytes are copied.
func (d *damages) add(f *Files, s *segment, file File, found damage) *wal.DamageError {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := place{s.path, found.from.off}
	if known := d.known[at]; known != nil && known.Next == found.to.number {
		return known
	}
	where := fmt.Sprintf("%s, bytes %d to %d", s.path, found.from.off, found.to.off)
	if len(d.known) >= maxDamages {
		where += "; too much is damaged to copy it"
	} else if found.from.off == found.to.off {
		where += ": they are missing"
	} else if to, err := f.copyOut(s, file, found.from.off, found.to.off, ""); err != nil {
		where += fmt.Sprintf("; copying them failed: %v", err)
	} else {
		where += ", copied to " + to
	}
	e := &wal.DamageError{From: found.from.number, Next: found.to.number, Where: where}
	if len(d.known) < maxDamages {
		d.known[at] = e
		f.log.Error("the log is damaged", "from", e.From, "next", e.Next, "where", where)
	}
	return e
}

// whole reports a segment none of which can be read.
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

// putAway moves a segment none of which can be read to the quarantine.
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
	for n := 2; slices.ContainsFunc(have, func(e Entry) bool { return e.Name == name }); n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	to := filepath.Join(dir, name)
	f.log.Error("the log is damaged; a segment is given up", "error", cause, "moved to", to)
	if err := f.fs.Rename(s.path, to); err != nil {
		return err
	}
	return errors.Join(f.fs.SyncDir(dir), f.fs.SyncDir(f.dir))
}

// quarantine makes the folder of damaged bytes, and returns its path.
func (f *Files) quarantine() (dir string, err error) {
	dir = filepath.Join(f.dir, quarantine)
	if err := f.fs.MkdirAll(dir); err != nil {
		return "", err
	}
	if have, err := f.fs.ReadDir(dir); err != nil || len(have) >= maxDamages {
		return "", cmp.Or(err, fmt.Errorf("%s holds %d files; see to them and move them elsewhere", dir, len(have)))
	}
	return dir, nil
}

// copyOut copies bytes of a segment to the quarantine and returns the path.
func (f *Files) copyOut(s *segment, file File, from, to int64, suffix string) (string, error) {
	dir, err := f.quarantine()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", filepath.Base(s.path), from, suffix))
	out, err := f.fs.Create(path)
	if err != nil {
		return "", err
	}
	defer out.Close()
	_, err = io.Copy(io.NewOffsetWriter(out, 0), io.NewSectionReader(file, from, to-from))
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = f.fs.SyncDir(dir)
	}
	return path, err
}

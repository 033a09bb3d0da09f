// Package faultfs is a file system in memory for tests of a log, and of services that use one. It
// fails on request, and loses what was not synced when the power is cut. It is harsher than a real
// disk: un-synced sectors and names survive or not independently of each other, and what a failed
// sync should have made durable is lost or not, without a later sync making up for it.
//
//	disk := faultfs.New()
//	files, err := segment.Open("/log", segment.Options{FS: disk})
//	...
//	disk = disk.Crash(seed) // the machine as it starts again
//
// It is not for speed or for large amounts of data. It starts no goroutines.
package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"dyno/parts/wal/segment"
)

// ErrOff is the error of every call after the power was cut.
var ErrOff = errors.New("the power was cut")

// FS is a file system in memory. Its methods are safe for concurrent use.
type FS struct {
	mu      sync.Mutex
	rng     *rand.Rand
	names   map[string]*node // as programs see them
	durable map[string]*node // as they are after a power cut
	off     bool
	free    int64 // bytes; negative means no limit
	syncs   fault
	writes  fault
	synced  int // number of successful syncs
}

// fault makes one call fail.
type fault struct {
	in  int // calls from now; 0 means none
	err error
}

// hit counts a call and returns the error with which it must fail.
func (f *fault) hit() error {
	if f.in == 0 {
		return nil
	}
	if f.in--; f.in > 0 {
		return nil
	}
	return f.err
}

var _ segment.FS = (*FS)(nil)

// New returns an empty file system without a space limit.
func New() *FS {
	root := &node{dir: true}
	return &FS{
		rng: rand.New(rand.NewPCG(1, 1)), free: -1,
		names: map[string]*node{"/": root, ".": root}, durable: map[string]*node{"/": root, ".": root},
	}
}

// FailSync makes the n-th sync from now (1 is the next), of a file or a folder, fail with EIO.
func (d *FS) FailSync(n int) { d.set(func() { d.syncs = fault{n, syscall.EIO} }) }

// FailWrite makes the n-th write from now stop halfway with EIO.
func (d *FS) FailWrite(n int) { d.set(func() { d.writes = fault{n, syscall.EIO} }) }

// Full sets the free space in bytes; negative means no limit.
func (d *FS) Full(bytes int64) { d.set(func() { d.free = bytes }) }

// Syncs returns how many syncs of files and folders have succeeded.
func (d *FS) Syncs() (n int) {
	d.set(func() { n = d.synced })
	return n
}

func (d *FS) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Crash cuts the power: every later call on the file system fails. It returns the file system as it
// is when the machine starts again. The seed decides how much of what was not synced survived.
func (d *FS) Crash(seed uint64) *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	after := New()
	after.rng = rand.New(rand.NewPCG(seed, seed))
	lucky := after.rng.IntN(101) // percent of the un-synced sectors and names that survive
	survives := func() bool { return after.rng.IntN(100) < lucky }
	copies := map[*node]*node{}
	for _, name := range union(d.names, d.durable) {
		n := d.durable[name]
		if now := d.names[name]; now != n && survives() {
			n = now
		}
		if n == nil || name == "/" || name == "." {
			continue
		}
		if copies[n] == nil {
			copies[n] = n.crash(survives)
		}
		after.names[name] = copies[n]
	}
	for name := range after.names {
		if !after.reachable(name) {
			delete(after.names, name)
		}
	}
	after.durable = maps.Clone(after.names)
	return after
}

// reachable reports whether all folders above a name exist.
func (d *FS) reachable(name string) bool {
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if d.names[dir] == nil {
			return false
		}
	}
	return true
}

// do runs f on a cleaned name under the lock, unless the power is off.
func (d *FS) do(op, name string, f func(name string) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.ToSlash(filepath.Clean(name))
	err := ErrOff
	if !d.off {
		err = f(name)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// MkdirAll implements segment.FS.
func (d *FS) MkdirAll(dir string) error {
	return d.do("mkdir", dir, func(dir string) error {
		for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
			if n := d.names[dir]; n != nil && !n.dir {
				return syscall.ENOTDIR
			} else if n == nil {
				d.names[dir] = &node{dir: true}
				d.durable[dir] = d.names[dir]
			}
		}
		return nil
	})
}

// ReadDir implements segment.FS.
func (d *FS) ReadDir(dir string) (entries []segment.Entry, err error) {
	err = d.do("readdir", dir, func(dir string) error {
		for name, n := range d.names {
			if path.Dir(name) == dir && name != dir {
				entries = append(entries, segment.Entry{Name: path.Base(name), Size: int64(len(n.data))})
			}
		}
		return nil
	})
	return entries, err
}

// SyncDir implements segment.FS.
func (d *FS) SyncDir(dir string) error {
	return d.do("sync", dir, func(dir string) error {
		if err := d.syncs.hit(); err != nil {
			return err
		}
		for _, name := range union(d.names, d.durable) {
			if path.Dir(name) != dir || name == dir {
				continue
			}
			if n := d.names[name]; n != nil {
				d.durable[name] = n
			} else {
				delete(d.durable, name)
			}
		}
		d.synced++
		return nil
	})
}

// Create implements segment.FS.
func (d *FS) Create(name string) (f segment.File, err error) {
	err = d.do("create", name, func(name string) error {
		if dir := path.Dir(name); d.names[dir] == nil {
			return fs.ErrNotExist
		}
		if n := d.names[name]; n != nil && n.dir {
			return syscall.EISDIR
		} else if n != nil {
			f = &file{d, n, name}
			return d.resize(n, 0)
		}
		d.names[name] = &node{dirty: map[int64]bool{}}
		f = &file{d, d.names[name], name}
		return nil
	})
	return f, err
}

// Open implements segment.FS.
func (d *FS) Open(name string) (f segment.File, err error) {
	err = d.do("open", name, func(name string) error {
		n := d.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		f = &file{d, n, name}
		return nil
	})
	return f, err
}

// Rename implements segment.FS.
func (d *FS) Rename(oldname, newname string) error {
	return d.do("rename", oldname, func(oldname string) error {
		n := d.names[oldname]
		if n == nil {
			return fs.ErrNotExist
		}
		newname = filepath.ToSlash(filepath.Clean(newname))
		d.release(d.names[newname])
		delete(d.names, oldname)
		d.names[newname] = n
		return nil
	})
}

// Remove implements segment.FS. It frees the space immediately.
func (d *FS) Remove(name string) error {
	return d.do("remove", name, func(name string) error {
		n := d.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		delete(d.names, name)
		d.release(n)
		return nil
	})
}

// release frees the space of a file that has no name any more.
func (d *FS) release(n *node) {
	if n != nil && d.free >= 0 {
		d.free += int64(len(n.data))
	}
}

// resize changes a file's size, limited by the free space.
func (d *FS) resize(n *node, size int64) error {
	grow := size - int64(len(n.data))
	if d.free >= 0 && grow > d.free {
		return syscall.ENOSPC
	}
	if d.free >= 0 {
		d.free -= grow
	}
	n.resize(size)
	return nil
}

// Corrupt changes the bytes of a file from an offset on, durably, as a failing disk would.
func (d *FS) Corrupt(name string, off int64, change func([]byte)) error {
	return d.do("corrupt", name, func(name string) error {
		n := d.names[name]
		if n == nil {
			return fs.ErrNotExist
		}
		if off > int64(len(n.data)) {
			return fmt.Errorf("the file has %d bytes", len(n.data))
		}
		change(n.data[off:])
		if off < int64(len(n.stable)) {
			change(n.stable[off:])
		}
		return nil
	})
}

// union lists the names in either map, sorted, so that random choices are reproducible.
func union(a, b map[string]*node) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

package faultdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"dyno/parts/vfs"
)

var _ vfs.FS = (*Disk)(nil)

// parts returns the names that lead to a path. Relative paths begin at the root, too.
func parts(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(filepath.Clean("/"+path)), func(r rune) bool { return r == '/' })
}

// walk returns the node that names lead to.
func (d *Disk) walk(names []string) (n *Node, err error) {
	n = d.root
	for _, name := range names {
		if n, err = n.Lookup(name); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// above returns the folder that a path is in, and its name there.
func (d *Disk) above(path string) (*Node, string, error) {
	names := parts(path)
	if len(names) == 0 {
		return nil, "", fs.ErrInvalid
	}
	dir, err := d.walk(names[:len(names)-1])
	return dir, names[len(names)-1], err
}

func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// MkdirAll implements vfs.FS.
func (d *Disk) MkdirAll(dir string) error {
	n := d.root
	for _, name := range parts(dir) {
		next, err := n.Lookup(name)
		if errors.Is(err, fs.ErrNotExist) {
			next, err = n.Create(name, 0o700, true)
		}
		if err == nil {
			err = n.pin(name)
		}
		if err != nil {
			return wrap("mkdir", dir, err)
		}
		n = next
	}
	return nil
}

// pin makes one name in a folder durable, and no other.
func (n *Node) pin(name string) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	change{name, n.entries[name]}.apply(n.synced)
	return nil
}

// ReadDir implements vfs.FS.
func (d *Disk) ReadDir(dir string) (entries []vfs.Entry, err error) {
	n, err := d.walk(parts(dir))
	if err == nil {
		err = n.disk.enter()
	}
	if err != nil {
		return nil, wrap("readdir", dir, err)
	}
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		entries = append(entries, vfs.Entry{Name: name, Size: n.entries[name].data.size})
	}
	return entries, nil
}

// SyncDir implements vfs.FS.
func (d *Disk) SyncDir(dir string) error {
	n, err := d.walk(parts(dir))
	if err == nil {
		err = n.Sync()
	}
	return wrap("sync", dir, err)
}

// Create implements vfs.FS.
func (d *Disk) Create(path string) (vfs.File, error) {
	dir, name, err := d.above(path)
	if err != nil {
		return nil, wrap("create", path, err)
	}
	n, err := dir.Create(name, 0o600, false)
	if errors.Is(err, fs.ErrExist) {
		if n, err = dir.Lookup(name); err == nil {
			err = n.Truncate(0)
		}
	}
	if err != nil {
		return nil, wrap("create", path, err)
	}
	return file{n}, nil
}

// Open implements vfs.FS.
func (d *Disk) Open(path string) (vfs.File, error) {
	n, err := d.walk(parts(path))
	if err != nil {
		return nil, wrap("open", path, err)
	}
	return file{n}, nil
}

// Rename implements vfs.FS.
func (d *Disk) Rename(oldpath, newpath string) error {
	from, oldname, err := d.above(oldpath)
	if err != nil {
		return wrap("rename", oldpath, err)
	}
	to, newname, err := d.above(newpath)
	if err != nil {
		return wrap("rename", newpath, err)
	}
	return wrap("rename", oldpath, from.Rename(oldname, to, newname, true))
}

// Remove implements vfs.FS.
func (d *Disk) Remove(path string) error {
	dir, name, err := d.above(path)
	if err != nil {
		return wrap("remove", path, err)
	}
	n, err := dir.Lookup(name)
	if err == nil {
		err = dir.Remove(name, n.IsDir())
	}
	return wrap("remove", path, err)
}

// Corrupt changes the bytes of a file from an offset on, durably, as a failing disk would.
func (d *Disk) Corrupt(path string, offset int64, change func([]byte)) error {
	n, err := d.walk(parts(path))
	if err == nil {
		err = n.corrupt(offset, change)
	}
	return wrap("corrupt", path, err)
}

func (n *Node) corrupt(offset int64, change func([]byte)) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if offset > n.data.size {
		return fmt.Errorf("the file has %d bytes", n.data.size)
	}
	for _, c := range []content{n.data, n.durable} {
		if offset > c.size {
			continue
		}
		b := make([]byte, c.size)
		c.readAt(b, 0)
		change(b[offset:])
		for i := offset / SectorBytes; i*SectorBytes < c.size; i++ {
			fresh := new(sector)
			copy(fresh[:], b[i*SectorBytes:])
			c.sectors[i] = fresh
		}
	}
	return nil
}

// file is a Node as an open file.
type file struct{ *Node }

func (file) Close() error { return nil }

func (f file) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.Node.ReadAt(b, offset)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

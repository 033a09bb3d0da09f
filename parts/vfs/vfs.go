// Package vfs is the part of a file system that a log needs, as an interface, so that tests can
// replace the operating system's with one that fails or loses data (package faultdisk). It is not
// for code that package os serves as well. It starts no goroutines.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FS is a file system by path. Errors are those of package os: fs.ErrNotExist, syscall.ENOSPC.
type FS interface {
	MkdirAll(dir string) error // durably
	ReadDir(dir string) ([]Entry, error)
	SyncDir(dir string) error             // makes the names in dir durable
	Create(name string) (File, error)     // empty, even if it existed; for reading and writing
	Open(name string) (File, error)       // for reading and writing
	Rename(oldname, newname string) error // replaces newname
	Remove(name string) error
}

// Entry is a file in a folder.
type Entry struct {
	Name string
	Size int64 // bytes
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error // the data, and the metadata needed to read it
	// Allocate extends the file by n bytes of zeros from offset on, so that writing them later takes
	// no space; errors.ErrUnsupported where it cannot.
	Allocate(offset, n int64) error
	// Fill writes those zeros where the file system would otherwise note for each allocated block when
	// it is first written, which makes a sync wait for its journal, too. Elsewhere it does nothing.
	Fill(offset, n int64) error
}

// Full reports whether an error means that there is no space.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// OS returns the operating system's file system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error             { return os.Remove(name) }

// MkdirAll syncs the folder above even if dir exists: its creator may not have synced.
func (o osFS) MkdirAll(dir string) error {
	above := filepath.Dir(dir)
	if _, err := os.Stat(above); errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := o.MkdirAll(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.SyncDir(above)
}

func (osFS) ReadDir(dir string) ([]Entry, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, e := range found {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Name: e.Name(), Size: info.Size()})
	}
	return entries, nil
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (osFS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (osFS) Open(name string) (File, error) { return open(name, os.O_RDWR) }

func open(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// osFile is an *os.File with the system's own Sync and Allocate.
type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

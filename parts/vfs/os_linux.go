package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Sync skips the file's times, which no program reads: within allocated space that saves a write to
// the file system's journal.
func (f osFile) Sync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return pathError("fdatasync", f.Name(), err)
		}
	}
}

func (f osFile) Allocate(offset, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, offset, n)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return errors.ErrUnsupported
		case !errors.Is(err, unix.EINTR):
			return pathError("fallocate", f.Name(), err)
		}
	}
}

// zeros are what Fill writes at a time.
var zeros [256 << 10]byte

func (f osFile) Fill(offset, n int64) error {
	var about unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &about); err != nil {
		return pathError("fstatfs", f.Name(), err)
	}
	if about.Type != unix.EXT4_SUPER_MAGIC && about.Type != unix.XFS_SUPER_MAGIC {
		return nil // others mark no blocks, or write each block to a new place
	}
	for n > 0 {
		k, err := f.WriteAt(zeros[:min(n, int64(len(zeros)))], offset)
		if err != nil {
			return err
		}
		offset, n = offset+int64(k), n-int64(k)
	}
	return nil
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

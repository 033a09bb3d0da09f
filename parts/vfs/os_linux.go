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

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

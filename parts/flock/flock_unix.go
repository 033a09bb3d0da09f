//go:build unix && !solaris && !aix

package flock

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the lock without waiting; ErrLocked when another process has it.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Unlock releases the lock, if this process has it.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

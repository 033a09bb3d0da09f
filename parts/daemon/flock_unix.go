//go:build unix && !solaris && !aix

package daemon

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock without waiting; errLocked when another process has it.
func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// unlock gives the lock up, if this process has it.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

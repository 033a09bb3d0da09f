//go:build unix && !solaris && !aix

package main

import (
	"os"
	"syscall"
)

// flock takes the lock without waiting. It ends with the file, or with the process however that ends.
func flock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

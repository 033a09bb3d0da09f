//go:build race

package httploop

import (
	"errors"
	"syscall"
)

// With the race detector on, bytes go through package syscall, which reports that a write happened
// before the read of its bytes; with raw system calls the detector would report false races.

// receive reads from a socket.
func receive(fd int, b []byte) (int, syscall.Errno) { return transferred(syscall.Read(fd, b)) }

// send writes to a socket.
func send(fd int, b []byte) (int, syscall.Errno) { return transferred(syscall.Write(fd, b)) }

func transferred(n int, err error) (int, syscall.Errno) {
	var errno syscall.Errno
	errors.As(err, &errno)
	return n, errno
}

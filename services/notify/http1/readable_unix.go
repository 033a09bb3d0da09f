//go:build unix

package http1

import "golang.org/x/sys/unix"

// readable reports whether a read from a socket would return immediately: with bytes, the end of
// the stream or an error.
func readable(fd uintptr) bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err != unix.EAGAIN
}

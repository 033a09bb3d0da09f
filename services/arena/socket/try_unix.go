//go:build unix

package socket

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// tryWriter returns writes that do not wait, for a connection of TCP.
func tryWriter(conn net.Conn) func(b []byte) (int, error) {
	tcp, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	// One write at a time: its variables are not made anew each time.
	t := &try{raw: raw}
	t.once = func(fd uintptr) bool {
		t.n, t.err = syscall.Write(int(fd), t.b)
		return true // also where it would wait
	}
	return t.write
}

type try struct {
	raw  syscall.RawConn
	once func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

func (t *try) write(b []byte) (int, error) {
	t.b = b
	err := t.raw.Write(t.once)
	t.b = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(t.err, syscall.EAGAIN), errors.Is(t.err, syscall.EINTR):
		return 0, nil
	case t.err != nil:
		return 0, t.err
	case t.n == 0 && len(b) > 0:
		return 0, io.ErrShortWrite
	}
	return t.n, nil
}

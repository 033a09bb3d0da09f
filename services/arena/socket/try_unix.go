//go:build unix

package socket

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// try reads and writes without waiting, on a connection of TCP. One goroutine at a time reads, and
// one writes.
type try struct {
	raw       syscall.RawConn
	in, out   operation
	readOnce  func(fd uintptr) bool
	writeOnce func(fd uintptr) bool
}

// operation is the arguments and the results of a system call, which are not made anew each time.
type operation struct {
	b   []byte
	n   int
	err error
}

// newTry returns nil for a connection that is not one of TCP, such as one of TLS.
func newTry(conn net.Conn) *try {
	tcp, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	t := &try{raw: raw}
	// They return true also where the call would wait: otherwise the goroutine would.
	t.readOnce = func(fd uintptr) bool {
		t.in.n, t.in.err = syscall.Read(int(fd), t.in.b)
		return true
	}
	t.writeOnce = func(fd uintptr) bool {
		t.out.n, t.out.err = syscall.Write(int(fd), t.out.b)
		return true
	}
	return t
}

// read returns 0 and no error where nothing has come.
func (t *try) read(b []byte) (int, error) {
	t.in.b = b
	err := t.raw.Read(t.readOnce)
	return t.in.result(err, io.EOF)
}

func (t *try) write(b []byte) (int, error) {
	t.out.b = b
	err := t.raw.Write(t.writeOnce)
	return t.out.result(err, io.ErrShortWrite)
}

// result returns what the call did; none is the error of a call that did nothing and does not say
// why.
func (o *operation) result(err, none error) (int, error) {
	empty := len(o.b) == 0
	o.b = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(o.err, syscall.EAGAIN), errors.Is(o.err, syscall.EINTR):
		return 0, nil
	case o.err != nil:
		return 0, o.err
	case o.n == 0 && !empty:
		return 0, none
	}
	return o.n, nil
}

//go:build unix

package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"dyno/parts/lameduck"
)

// try reads and writes without waiting, on a connection of TCP.
//
// Once it is detached, the runtime's poller does not watch the connection any more. It would be
// woken by each packet that a room reads in its next tick anyway.
type try struct {
	mu     sync.Mutex
	tcp    *net.TCPConn
	raw    syscall.RawConn // of tcp; nil means that it is detached
	fd     int             // then the descriptor; -1 means closed
	until  time.Time       // the deadline of reads; zero means none
	kept   bool            // some call waits on tcp, which must not be closed under it
	one    operation
	read1  func(fd uintptr) bool
	write1 func(fd uintptr) bool
}

// operation is the arguments and the results of a system call, which are not made anew each time.
type operation struct {
	b   []byte
	n   int
	err error
}

// newTry returns nil for a connection that is not one of TCP, such as one of TLS.
func newTry(conn net.Conn) *try {
	t := &try{fd: -1}
	switch c := conn.(type) {
	case *net.TCPConn:
		t.tcp = c
	case *lameduck.Conn:
		t.tcp = c.TCPConn
	default:
		return nil
	}
	if t.watch() != nil {
		return nil
	}
	// They return true also where the call would wait: otherwise the goroutine would.
	t.read1 = func(fd uintptr) bool { t.one.n, t.one.err = syscall.Read(int(fd), t.one.b); return true }
	t.write1 = func(fd uintptr) bool { t.one.n, t.one.err = syscall.Write(int(fd), t.one.b); return true }
	return t
}

func (t *try) watch() (err error) {
	t.raw, err = t.tcp.SyscallConn()
	return err
}

// detach makes the connection one that only read and write use. Where it fails, nothing changes but
// what they cost.
func (t *try) detach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw == nil || t.kept {
		return
	}
	var dup int
	var failed error
	err := t.raw.Control(func(fd uintptr) { dup, failed = duplicate(int(fd)) })
	if errors.Join(err, failed) != nil {
		return
	}
	t.tcp.Close() // the poller forgets it; the duplicate stays open
	t.raw, t.fd = nil, dup
}

// attach undoes detach for good, and returns the connection for calls that wait; nil if it is
// closed.
func (t *try) attach() *net.TCPConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = true
	if t.raw != nil {
		return t.tcp
	}
	if t.fd < 0 {
		return nil
	}
	file := os.NewFile(uintptr(t.fd), "connection")
	conn, err := net.FileConn(file) // on a duplicate
	file.Close()
	t.fd = -1
	if err != nil {
		return nil
	}
	t.tcp = conn.(*net.TCPConn)
	if t.watch() != nil {
		t.tcp.Close()
		return nil
	}
	t.tcp.SetReadDeadline(t.until)
	return t.tcp
}

// close closes the connection, whether it is detached or not.
func (t *try) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd >= 0 {
		syscall.Close(t.fd)
		t.fd = -1
	}
	t.tcp.Close()
}

// deadline sets that of reads.
func (t *try) deadline(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until = at; t.raw != nil {
		t.tcp.SetReadDeadline(at)
	}
}

// read returns 0 and no error where nothing has come.
func (t *try) read(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.one.b = b
	switch {
	case t.raw != nil:
		return t.one.result(t.raw.Read(t.read1), io.EOF)
	case t.fd < 0:
		return 0, net.ErrClosed
	case !t.until.IsZero() && !time.Now().Before(t.until):
		return 0, os.ErrDeadlineExceeded
	}
	t.read1(uintptr(t.fd))
	return t.one.result(nil, io.EOF)
}

func (t *try) write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.one.b = b
	switch {
	case t.raw != nil:
		return t.one.result(t.raw.Write(t.write1), io.ErrShortWrite)
	case t.fd < 0:
		return 0, net.ErrClosed
	}
	t.write1(uintptr(t.fd))
	return t.one.result(nil, io.ErrShortWrite)
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

// duplicate returns another descriptor of the same socket, which programs started meanwhile do not
// inherit.
func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	dup, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(dup)
	}
	return dup, err
}

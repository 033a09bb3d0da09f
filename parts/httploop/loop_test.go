//go:build linux

package httploop

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// paired returns a loop that is not running, with a connection, and the descriptor of its client.
func paired(t *testing.T) (l *loop, c *conn, client int) {
	s, err := New(Options{Turn: func(int, []*Request) {}})
	if err != nil {
		t.Fatal(err)
	}
	if l, err = newLoop(s, 0); err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil { // as accepted sockets are
		t.Fatal(err)
	}
	l.add(pair[0], netip.AddrPort{}, false, nil)
	return l, l.conns[0], pair[1]
}

// A connection that was closed while its bytes were parsed is not read again: its descriptor may
// belong to another file.
func TestAbortedIsNotRead(t *testing.T) {
	l, c, client := paired(t)
	defer l.close()
	unix.Write(client, []byte("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"))
	unix.Close(client) // so that 100 Continue cannot be sent
	c.happened(unix.EPOLLIN | unix.EPOLLRDHUP)
	if !c.dead || c.buf != nil || c.takes() {
		t.Errorf("dead %t, %d bytes of buffer, takes requests %t", c.dead, cap(c.buf), c.takes())
	}
}

// While the server drains, a request that is arriving gets a lull after each of its pieces.
func TestDrainWaitsForPieces(t *testing.T) {
	l, c, client := paired(t)
	defer l.close()
	defer c.abort()
	defer unix.Close(client)
	lull := l.server.options.lull
	l.end()
	for range 5 {
		l.now = l.now.Add(lull / 2)
		unix.Write(client, []byte("GET "))
		c.happened(unix.EPOLLIN)
		if left := c.deadline.Sub(l.now); left != lull {
			t.Fatalf("%v are left, want %v", left, lull)
		}
	}
	c.happened(unix.EPOLLOUT)
	l.now = l.now.Add(time.Millisecond)
	if c.settle(); c.deadline.Sub(l.now) >= lull {
		t.Error("it waits longer although nothing came")
	}
}

// A request that drips in has the time of one that does not, in any framing and also after 100
// Continue.
func TestDripsGainNoTime(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, text := range []string{
		head + "Content-Length: 20\r\n\r\n0123456789", head + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;b\r\ncd\r\n0\r\nA: b\r\n",
		head + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	} {
		l, c, client := paired(t)
		drip(t, l, c, text, func(b []byte) { unix.Write(client, b) }, func(b []byte) (int, error) { return unix.Read(client, b) })
		unix.Close(client)
		over := pairedOverTLS(t)
		for i := 0; i < len(text); i += 7 { // several records
			io.WriteString(over.Conn, text[i:min(i+7, len(text))])
		}
		drip(t, over.loop, over.conn, string(over.take()), over.send, over.Read)
	}
}

// drip sends one byte after the other, until the time of a request is over.
func drip(t *testing.T, l *loop, c *conn, text string, send func([]byte), read func([]byte) (int, error)) {
	t.Helper()
	defer l.close()
	defer c.abort()
	patience, began := l.server.options.ReadTimeout, l.now
	for i := range len(text) {
		l.now = began.Add(patience * time.Duration(i) / time.Duration(len(text)))
		send([]byte{text[i]})
		c.happened(unix.EPOLLIN)
		if !c.deadline.Equal(began.Add(patience)) {
			t.Fatalf("%q: after %d bytes its time ends %v after it began, want %v", text, i+1, c.deadline.Sub(began), patience)
		}
	}
	l.now = began.Add(patience + time.Millisecond)
	c.expire()
	l.flush()
	var got []byte
	for !bytes.Contains(got, []byte("HTTP/1.1 408 ")) {
		var b [1024]byte
		n, err := read(b[:])
		if got = append(got, b[:n]...); n <= 0 || err != nil {
			t.Fatalf("%q: %q, %v", text, got, err)
		}
	}
}

// A loop that has ended writes to no descriptor: it may belong to another file.
func TestNoWakeAfterTheEnd(t *testing.T) {
	l, c, client := paired(t)
	defer unix.Close(client)
	c.abort()
	l.asleep.Store(true) // a goroutine that completed a request still has to wake it
	was := l.wakeFD
	l.close()
	other, err := unix.FcntlInt(uintptr(client), unix.F_DUPFD_CLOEXEC, was)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	if other != was {
		t.Skip("another descriptor came first")
	}
	peer, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(peer)
	if err := unix.Dup3(peer, other, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	l.wake()
	var b [8]byte
	if n, _ := unix.Read(peer, b[:]); n > 0 {
		t.Errorf("%d bytes were written", n)
	}
}

// accepting makes a running server accept connections with f.
func (s *served) accepting(f func(fd, flags int) (int, unix.Sockaddr, error)) (idle *client) {
	idle = s.dial()
	idle.send(get)
	idle.answer("GET")
	s.mu.Lock()
	first := s.loops[0]
	s.mu.Unlock()
	set := make(chan bool)
	first.post(func() {
		first.accept.accept = f
		close(set)
	})
	<-set
	return idle
}

// A drain without file descriptors ends connections without a request, and answers those that
// waited to be accepted.
func TestDrainAcceptsWhenItCan(t *testing.T) {
	s := serve(t, Options{Loops: 2})
	var full atomic.Bool
	full.Store(true)
	idle := s.accepting(func(fd, flags int) (int, unix.Sockaddr, error) {
		if full.Load() {
			return -1, nil, unix.EMFILE
		}
		return unix.Accept4(fd, flags)
	})
	var waiting []*client
	for range 5 {
		c := s.dial()
		c.send(get)
		waiting = append(waiting, c)
	}
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context()) }()
	idle.end()
	full.Store(false)
	for _, c := range waiting {
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 || !resp.Close {
			t.Errorf("%s, closes %t", resp.Status, resp.Close)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// A drain that never gets a file descriptor ends at its deadline.
func TestDrainEndsWithoutDescriptors(t *testing.T) {
	s := serve(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	s.accepting(func(int, int) (int, unix.Sockaddr, error) {
		if s.lame.Load() {
			cancel()
		}
		return -1, nil, unix.EMFILE
	})
	s.dial()
	if err := s.Drain(ctx); err != nil {
		t.Error(err)
	}
}

// Sockets have the same options as those of package net.
func TestTCPOptions(t *testing.T) {
	requests := make(chan *Request, 1)
	s := serve(t, Options{Turn: func(_ int, batch []*Request) { requests <- batch[0] }})
	c := s.dial()
	c.send(get)
	r := <-requests
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	raw, err := other.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range tcpOptions {
		got, err := unix.GetsockoptInt(r.conn.fd, o.level, o.name)
		var want int
		var err2 error
		raw.Control(func(fd uintptr) { want, err2 = unix.GetsockoptInt(int(fd), o.level, o.name) })
		if got != want || err != nil || err2 != nil {
			t.Errorf("option %d of level %d: %d, net has %d (%v, %v)", o.name, o.level, got, want, err, err2)
		}
	}
	Done(r)
	c.answer("GET")
}

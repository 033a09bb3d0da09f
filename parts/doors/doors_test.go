package doors

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener of connections in memory; nil stands for an accept without descriptors.
type queue chan net.Conn

func (q queue) Accept() (net.Conn, error) {
	c, open := <-q
	switch {
	case !open:
		return nil, net.ErrClosed
	case c == nil:
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return c, nil
}

func (q queue) Close() error   { close(q); return nil }
func (q queue) Addr() net.Addr { return &net.TCPAddr{} }

// dial queues a connection and returns the client's end.
func (q queue) dial() net.Conn {
	client, server := net.Pipe()
	q <- server
	return client
}

// A door lets in as many as may be open, answers the others, says so once a minute, and lets others
// in when some have closed. A lack of descriptors ends nothing.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		q := make(queue, 10)
		d := &Door{Name: "peers", Most: 2, Log: slog.New(slog.NewTextHandler(&said, nil))}
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for l := d.Limit(q); ; {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		q <- nil
		q <- nil
		q.dial()
		first := <-accepted
		q.dial()
		<-accepted
		refused := func() {
			t.Helper()
			if text, err := io.ReadAll(q.dial()); err != nil || string(text) != Refusal {
				t.Errorf("%q, %v", text, err)
			}
		}
		refused()
		refused()
		lines := func(want int) {
			t.Helper()
			if got := strings.Count(said.String(), "door=peers most=2"); got != want {
				t.Errorf("%d lines, want %d:\n%s", got, want, &said)
			}
		}
		lines(1)
		time.Sleep(quiet)
		refused()
		lines(2)
		first.Close()
		first.Close()
		q.dial()
		<-accepted
		refused()
		if n := strings.Count(said.String(), "too many open files"); n != 1 {
			t.Errorf("%d lines of the lack of descriptors:\n%s", n, &said)
		}
		q.Close()
		<-accepted
	})
}

// The shares leave descriptors to everything else.
func TestShares(t *testing.T) {
	all := files()
	if all == 0 {
		t.Skip("the system has no bound")
	}
	if left := all - Public("").Most - 3*Private("", nil).Most - Kept(all); left < all/8 {
		t.Errorf("%d of %d are left", left, all)
	}
}

//go:build linux

package httploop

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/servicetest"
)

// The bytes that connections hold in total are bounded: above the bound, a client that starts or
// continues a request is refused, and the others are served.
func TestMaxBuffered(t *testing.T) {
	const head, bound = 1024, 8 * 1024
	release := make(chan []*Request, 100)
	s := serve(t, Options{MaxHead: head, MaxBody: 1 << 20, MaxBuffered: bound, Turn: func(_ int, requests []*Request) {
		release <- append([]*Request(nil), requests...)
	}})
	half := "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n"
	var halves []*client
	for i := range bound / head {
		c := s.dial()
		c.send(half)
		halves = append(halves, c)
		for s.Stats().Buffered < int64((i+1)*head) {
			time.Sleep(time.Millisecond) // until it was read
		}
	}
	refused := func(c *client) {
		t.Helper()
		if resp, body := c.answer("POST"); resp.StatusCode != http.StatusServiceUnavailable || !resp.Close || resp.Header.Get("Retry-After") == "" || body == "" {
			t.Errorf("%s %q", resp.Status, body)
		}
	}
	one := s.dial()
	one.send(get)
	refused(one)
	halves[0].send(strings.Repeat("x", 2*head)) // a larger buffer
	refused(halves[0])
	halves[0].end()
	if n := s.Stats(); n.Buffered > bound || n.Overfull != 2 {
		t.Errorf("%+v", n)
	}
	again := s.dial() // at the memory of the refused body
	again.send(get)
	requests := <-release
	echo(requests[0])
	Done(requests...)
	if resp, _ := again.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	for _, c := range halves[1:] {
		c.Close()
	}
	again.Close()
	for s.Stats().Connections > 1 { // one of the refused connections lingers
		time.Sleep(time.Millisecond)
	}
	if n := s.Stats().Buffered; n != 0 {
		t.Errorf("%d bytes are counted without a request", n)
	}
}

// Connections that have sent nothing hold no buffer, so they do not prevent requests of others from
// being read.
func TestSilentConnectionsHoldNoBuffer(t *testing.T) {
	const head, bound = 1024, 8 * 1024
	s := serve(t, Options{MaxHead: head, MaxBuffered: bound, Turn: func(_ int, requests []*Request) {
		for _, r := range requests {
			echo(r)
		}
		Done(requests...)
	}})
	for range 4 * bound / head {
		s.dial()
	}
	for s.Stats().Connections < 4*bound/head {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		c := s.dial()
		c.send(get)
		if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
	}
	if n := s.Stats(); n.Overfull != 0 || n.Buffered > head {
		t.Errorf("%+v", n)
	}
}

// A client that is still sending when it is refused for lack of buffer space can read the response:
// its connection is not reset.
func TestRefusedForRoomIsNotReset(t *testing.T) {
	const head, bound = 1024, 1024
	held := make(chan []*Request, 10)
	s := serve(t, Options{MaxHead: head, MaxBody: 1 << 20, MaxBuffered: bound, Turn: func(_ int, requests []*Request) {
		held <- append([]*Request(nil), requests...)
	}})
	first := s.dial()
	first.send(get)
	requests := <-held
	second := s.dial()
	second.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n")
	for range 50 {
		second.send(strings.Repeat("x", 10_000)) // fails if the connection is reset
	}
	if resp, body := second.answer("POST"); resp.StatusCode != http.StatusServiceUnavailable || body == "" {
		t.Errorf("%s %q", resp.Status, body)
	}
	echo(requests[0])
	Done(requests...)
	if resp, _ := first.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}

// A body that grows in its buffer, and a response that the client does not read, are counted and
// later subtracted.
func TestBufferedIsGivenBack(t *testing.T) {
	s := serve(t, Options{MaxHead: 1024, MaxBody: 8 << 20})
	c := s.dial()
	body := strings.Repeat("x", 4<<20)
	c.send(fmt.Sprintf("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(body)))
	c.send(body)
	for s.Stats().Buffered < int64(len(body)) {
		time.Sleep(time.Millisecond) // its response is larger than the socket buffers
	}
	c.answer("POST")
	c.send(get)
	c.answer("GET")
	c.Close()
	for s.Stats().Connections > 0 {
		time.Sleep(time.Millisecond)
	}
	if n := s.Stats().Buffered; n != 0 {
		t.Errorf("%d bytes are counted", n)
	}
}

// Clients that do not read large responses do not keep others from being served, once they have
// been given some time.
func TestSlowClientsGiveWay(t *testing.T) {
	for _, tt := range []struct {
		slow   time.Duration
		status int
	}{{time.Nanosecond, http.StatusOK}, {time.Hour, http.StatusServiceUnavailable}} {
		const size = 16 << 20 // more than the buffers of two sockets
		var ticks atomic.Int64
		s := serve(t, Options{MaxHead: 1024, MaxBuffered: 1 << 20, WriteTimeout: 2 * time.Hour, slow: tt.slow, Loops: 1, Tick: func(int) { ticks.Add(1) }, Turn: func(_ int, requests []*Request) {
			for _, r := range requests {
				if r.Path == "/large" {
					r.Response.Body = append(r.Response.Body, make([]byte, size)...)
				}
				r.Response.Status = http.StatusOK
			}
			Done(requests...)
		}})
		for range 3 {
			s.dial().send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		servicetest.Await(t, func() string { return "large responses that are not read" }, func() bool { n := s.Stats(); return n.Requests+n.Overfull == 3 })
		began := ticks.Load() // all are flushed at the next, and after it the loop looks for slow ones again
		servicetest.Await(t, func() string { return "ticks" }, func() bool { return ticks.Load() >= began+3 })
		c := s.dial()
		c.send(get)
		if resp, _ := c.answer("GET"); resp.StatusCode != tt.status {
			t.Errorf("after %v: %s", tt.slow, resp.Status)
		}
	}
}

func TestMaxBufferedHoldsAHead(t *testing.T) {
	if _, err := New(Options{Turn: func(int, []*Request) {}, MaxBuffered: 1000}); err == nil {
		t.Error("no error")
	}
}

//go:build linux

package httploop

import (
	"bytes"
	"net/http"
	"testing"

	"golang.org/x/sys/unix"
)

// counted returns bytes that are distinct at each place.
func counted(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16 + i>>8 + i)
	}
	return b
}

// asked is a connection of a loop that is not running, and answers its request with a body.
func (l *loop) asked(t *testing.T, c *conn, client int, body []byte) *Request {
	t.Helper()
	unix.Write(client, []byte(get))
	c.happened(unix.EPOLLIN)
	if len(l.batch) != 1 {
		t.Fatalf("%d requests", len(l.batch))
	}
	r := l.batch[0]
	l.turn()
	r.Response.Status, r.Response.Body, r.answered = http.StatusOK, body, true
	l.touch(c)
	return r
}

// Large answers arrive whole, also behind and before others.
func TestLargeAnswers(t *testing.T) {
	body := counted(5 << 20)
	s := serve(t, Options{Loops: 1, Turn: func(_ int, requests []*Request) {
		for _, r := range requests {
			if echo(r); r.Path == "/large" {
				r.Response.Body = bytes.Clone(body)
			}
		}
		Done(requests...)
	}})
	c := s.dial()
	const large = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
	c.send(get + large + get + "HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n" + large + get)
	for i, method := range []string{"GET", "GET", "GET", "HEAD", "GET", "GET"} {
		resp, got := c.answer(method)
		switch {
		case i%3 == 1 && got != string(body), i%3 != 1 && method == "GET" && got != "GET /a b=c ":
			t.Errorf("answer %d has %d bytes: %.40q", i, len(got), got)
		case method == "HEAD" && resp.ContentLength != int64(len(body)):
			t.Errorf("HEAD: %v", resp)
		}
	}
}

// A large answer is not copied, and goes out in pieces, between which the loop serves others.
func TestLargeAnswerGivesWay(t *testing.T) {
	l, c, client := paired(t)
	defer l.close()
	defer c.abort()
	defer unix.Close(client)
	if err := unix.SetNonblock(client, true); err != nil {
		t.Fatal(err)
	}
	body := counted(1 << 20)
	l.asked(t, c, client, body)
	var got []byte
	for turn := 0; c.inFlight > 0 || c.unsent(); turn++ {
		l.flush()
		before := len(got)
		for {
			var b [1 << 16]byte
			n, _ := unix.Read(client, b[:])
			if got = append(got, b[:max(n, 0)]...); n <= 0 {
				break
			}
		}
		if n := len(got) - before; n == 0 || n > maxOut+100 || turn > 100 {
			t.Fatalf("%d bytes in turn %d", n, turn)
		}
		if c.unsent() && (len(l.dirty) == 0 || len(c.large) > 0 && &c.large[0] != &body[0] || c.held < cap(body)) {
			t.Fatalf("%d connections go on, %d bytes are counted", len(l.dirty), c.held)
		}
	}
	if _, sent, _ := bytes.Cut(got, []byte("\r\n\r\n")); !bytes.Equal(sent, body) {
		t.Errorf("%d bytes were sent", len(sent))
	}
	if cap(l.out) > 2*maxOut || c.held != 0 {
		t.Errorf("the loop has %d bytes, the connection %d", cap(l.out), c.held)
	}
}

// A client that reads is not slow, however long its answer takes; one that has stopped is.
func TestReadersAreNotSlow(t *testing.T) {
	l, c, client := paired(t)
	defer l.close()
	defer c.abort()
	defer unix.Close(client)
	l.asked(t, c, client, counted(8<<20))
	pause := l.server.options.slow * 9 / 10
	turn := func() {
		l.ticks(l.now)
		for {
			if l.flush(); len(l.dirty) == 0 {
				return
			}
		}
	}
	for turn(); ; turn() {
		if l.now = l.now.Add(pause); l.cutSlowest() {
			t.Fatal("a client that reads was cut off")
		}
		if c.at > 2<<20 {
			break
		}
		b := make([]byte, 128<<10)
		if _, err := unix.Read(client, b); err != nil {
			t.Fatal(err)
		}
		c.happened(unix.EPOLLOUT)
	}
	l.now = l.now.Add(l.server.options.slow)
	if l.cutSlowest() || c.dead {
		t.Error("none was slow in this tick, and one is now")
	}
	l.ticks(l.now)
	if !l.cutSlowest() || !c.dead {
		t.Error("a client that does not read was not cut off")
	}
}

// A response's end is reported once: when it was written, or its connection has ended.
func TestReleased(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		for _, gone := range []bool{false, true} {
			l, c, client := paired(t)
			released := 0
			l.asked(t, c, client, counted(size)).Released = func() { released++ }
			if gone {
				c.abort()
			} else if l.flush(); size > maxOut && released > 0 {
				t.Error("released before it was sent")
			}
			go func() {
				var b [1 << 16]byte
				for n := 1; n > 0; {
					n, _ = unix.Read(client, b[:])
				}
				unix.Close(client)
			}()
			for c.unsent() {
				c.happened(unix.EPOLLOUT)
				l.flush()
			}
			c.abort()
			if released != 1 {
				t.Errorf("%s, gone %t: released %d times", name, gone, released)
			}
			l.close()
		}
	}
}

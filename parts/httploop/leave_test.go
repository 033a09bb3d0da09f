//go:build linux

package httploop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck"
)

// leaving serves /a in the loop and everything else by net/http.
func leaving(t *testing.T) *served {
	type left struct {
		net.Conn
		in   io.Reader
		gone func()
	}
	others := make(chan left, 16)
	s := serve(t, Options{
		Serves: func(r *Request) bool { return r.Path == "/a" && r.Field("X-Other") == "" },
		Leave: func(h lameduck.Handed) {
			c := net.Conn(h.TCPConn)
			if h.Over != nil {
				c = h.Over(c)
			}
			others <- left{c, io.MultiReader(bytes.NewReader(h.Unread), c), h.Gone}
		},
	})
	served := make(chan struct{})
	go func() {
		defer close(served)
		for c := range others {
			in := bufio.NewReader(c.in)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					fmt.Fprintf(c, "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n")
					break
				}
				body, _ := io.ReadAll(r.Body)
				text := "other " + r.URL.Path + " " + string(body)
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
				if r.Close {
					break
				}
			}
			c.gone()
			c.Close()
		}
	}()
	t.Cleanup(func() { close(others); <-served })
	return s
}

func TestLeaves(t *testing.T) {
	post := func(path, fields, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, fields, len(body), body)
	}
	const last = "Connection: close\r\n"
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name string
		sent string
		want []string // in the responses
	}{
		{"another path", post("/b", last, "body"), []string{"other /b body"}},
		{"another header", post("/a", "X-Other: 1\r\n"+last, "body"), []string{"other /a body"}},
		{"a body too long for it", post("/a", last, long), []string{"other /a " + long}},
		{"no request", "hello\r\n\r\n", []string{"400 Bad"}},
		{"after requests of its own", post("/a", "", "1") + post("/a", "", "2") + post("/b", "", "3") + post("/a", last, "4"),
			[]string{"POST /a  1", "POST /a  2", "other /b 3", "other /a 4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := leaving(t)
			conn := s.dial()
			go io.WriteString(conn, tt.sent)
			all, err := io.ReadAll(conn)
			if err != nil {
				t.Error(err)
			}
			rest := string(all)
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%q is not in the answers %.1000q", want, rest)
				}
				rest = after
			}
			if n := s.Stats().Connections; n != 0 {
				t.Errorf("%d connections are counted", n)
			}
		})
	}
}

// A connection that leaves waits for requests in progress, and loses no bytes meanwhile.
func TestLeavesBehindRequestsUnderWay(t *testing.T) {
	requests, others := make(chan *Request, 1), make(chan string, 1)
	s := serve(t, Options{
		Turn:   func(_ int, batch []*Request) { requests <- batch[0] },
		Serves: func(r *Request) bool { return r.Path == "/a" },
		Leave: func(h lameduck.Handed) {
			others <- string(h.Unread)
			if h.Over != nil {
				h.Over(h.TCPConn).Close()
				return
			}
			h.Close()
		},
	})
	c := s.dial()
	const other = "GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
	c.send(get + other)
	c.CloseWrite()
	r := <-requests
	echo(r)
	Done(r)
	c.answer("GET")
	c.end()
	select {
	case unread := <-others:
		if unread != other {
			t.Errorf("%q was left", unread)
		}
	default:
		t.Error("the connection did not leave")
	}
}

func TestOneOfLeaveAndServes(t *testing.T) {
	if _, err := New(Options{Turn: func(int, []*Request) {}, Leave: func(lameduck.Handed) {}}); err == nil {
		t.Error("no error")
	}
}

// Connections that left count until they are closed.
func TestLeftConnectionsCount(t *testing.T) {
	others := make(chan lameduck.Handed, 1)
	s := serve(t, Options{
		MaxConnections: 1,
		Serves:         func(r *Request) bool { return r.Path == "/a" },
		Leave:          func(h lameduck.Handed) { others <- h },
	})
	s.dial().send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
	one := <-others
	c := s.dial()
	if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("beside it: %s", resp.Status)
	}
	c.end()
	one.Close()
	one.Gone()
	one.Gone()
	for s.Stats().Connections > 0 {
		time.Sleep(time.Millisecond) // until the loop has noticed that the refused client left
	}
	if n := s.Stats().Connections; n < 0 {
		t.Errorf("%d connections", n)
	}
	c = s.dial()
	c.send(get)
	if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Errorf("after it: %s", resp.Status)
	}
}

//go:build linux

package httploop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck"
)

func onlyA(r *Request) string {
	if r.Path != "/a" {
		return ReasonPath
	}
	return ""
}

// leaving serves /a in the loop and everything else by net/http.
func leaving(t *testing.T) *served {
	type left struct {
		net.Conn
		in   io.Reader
		gone func()
	}
	others := make(chan left, 16)
	s := serve(t, Options{
		Serves: func(r *Request) string {
			switch {
			case r.Path != "/a":
				return ReasonPath
			case r.Field("X-Other") != "":
				return "X-Other"
			}
			return ""
		},
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
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nExpected: %s\r\nContent-Length: %d\r\n\r\n%s", r.Header.Get("Expect"), len(text), text)
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
		name   string
		sent   string
		want   []string // in the responses
		reason string
	}{
		{"another path", post("/b", last, "body"), []string{"other /b body"}, ReasonPath},
		{"another header", post("/a", "X-Other: 1\r\n"+last, "body"), []string{"other /a body"}, "X-Other"},
		{"a body too long for it", post("/a", last, long), []string{"other /a " + long}, ReasonBody},
		{"no request", "hello\r\n\r\n", []string{"400 Bad"}, ReasonFraming},
		{"another expectation", post("/a", "Expect: x\r\n"+last, "body"), []string{"other /a body"}, "Expect"},
		{"after requests of its own", post("/a", "", "1") + post("/a", "", "2") + post("/b", "", "3") + post("/a", last, "4"),
			[]string{"POST /a  1", "POST /a  2", "other /b 3", "other /a 4"}, ReasonPath},
		{"chunks", chunks(last, "abc", "d") + get, []string{"POST /a  abcd"}, ""},
		{"chunks too long for it", chunks(last, "abc", long, "d"), []string{"other /a abc" + long + "d"}, ReasonBody},
		{"many chunks too long for it", chunks(last, slices.Repeat([]string{long[:999]}, 100)...), []string{"other /a " + strings.Repeat("x", 99900)}, ReasonBody},
		{"a first chunk too long for it", chunks(last, long), []string{"other /a " + long}, ReasonBody},
		{"such chunks after requests of its own", chunks("", "1") + chunks("", "2") + chunks("", long) + post("/a", last, "4"),
			[]string{"POST /a  1", "POST /a  2", "other /a " + long, "other /a 4"}, ReasonBody},
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
			want := map[string]uint64{}
			if tt.reason != "" {
				want[tt.reason] = 1
				if n := s.Stats().Connections; n != 0 {
					t.Errorf("%d connections are counted", n)
				}
			}
			if got := s.HandedOver(); !maps.Equal(got, want) {
				t.Errorf("reasons %v, want %v", got, want)
			}
		})
	}
}

// chunks is a request whose body is in chunks.
func chunks(fields string, bodies ...string) string {
	var out strings.Builder
	out.WriteString("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n")
	for _, body := range append(bodies, "") {
		fmt.Fprintf(&out, "%x\r\n%s", len(body), body)
		if body != "" {
			out.WriteString("\r\n")
		}
	}
	return out.String() + "\r\n"
}

// A client that waits for 100 Continue receives it once, by whichever server reads the body.
func TestContinuesOnce(t *testing.T) {
	s := leaving(t)
	c := s.dial()
	c.send("POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nexpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != http.StatusContinue {
		t.Fatal(resp.Status)
	}
	long := strings.Repeat("x", 100<<10)
	c.send(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long))
	resp, body := c.answer("POST")
	if body != "other /a "+long || resp.Header.Get("Expected") != "" {
		t.Errorf("%s, Expect %q, %.100s", resp.Status, resp.Header.Get("Expected"), body)
	}
}

// A connection that leaves waits for requests in progress, and loses no bytes meanwhile.
func TestLeavesBehindRequestsUnderWay(t *testing.T) {
	requests, others := make(chan *Request, 1), make(chan string, 1)
	s := serve(t, Options{
		Turn:   func(_ int, batch []*Request) { requests <- batch[0] },
		Serves: onlyA,
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
		Serves:         onlyA,
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

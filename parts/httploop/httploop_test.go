//go:build linux

package httploop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const get = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"

// served is a running server, its address and the result of Serve.
type served struct {
	*Server
	t       *testing.T
	address string
	ended   chan error
}

// serve runs a server until the end of the test. By default it echoes.
func serve(t *testing.T, o Options) *served {
	t.Helper()
	if o.Turn == nil {
		o.Turn = echoes
	}
	if o.TLS == nil {
		o.TLS = everywhere
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &served{s, t, l.Addr().String(), make(chan error, 1)}
	go func() { d.ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Drain(ctx)
		if err := <-d.ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func echoes(_ int, requests []*Request) {
	for _, r := range requests {
		echo(r)
	}
	Done(requests...)
}

// echo answers with the request's target and body.
func echo(r *Request) {
	r.Response.Status = 200
	r.Response.Add("Content-Type", "text/plain")
	r.Response.Body = fmt.Appendf(r.Response.Body, "%s %s %s %s", r.Method, r.Path, r.Query, r.Body)
}

// client is a connection to it.
type client struct {
	stream
	t  *testing.T
	in *bufio.Reader
}

// patience bounds every wait; it is reached only when a test fails.
const patience = 2 * time.Minute

func (s *served) dial() *client {
	s.t.Helper()
	tcp, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { tcp.Close() })
	tcp.SetDeadline(time.Now().Add(patience))
	c := over(s.options.TLS, tcp)
	return &client{c, s.t, bufio.NewReader(c)}
}

// stream is a connection of a client, with or without TLS.
type stream interface {
	net.Conn
	CloseWrite() error
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(body)
}

// end checks that the connection ends without more bytes and without an error.
func (c *client) end() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) > 0 {
		c.t.Errorf("instead of the end there is %.60q, %v", rest, err)
	}
}

func TestAnswers(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial()
	for range 3 {
		c.send(get)
		resp, body := c.answer("GET")
		if resp.StatusCode != 200 || body != "GET /a b=c " || resp.Header.Get("Content-Type") != "text/plain" || resp.Close {
			t.Errorf("%v %q", resp, body)
		}
		if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil {
			t.Error(err)
		}
	}
	c.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc" + get)
	if resp, body := c.answer("HEAD"); resp.ContentLength != int64(len("HEAD /a  ")) || body != "" {
		t.Errorf("%v %q", resp, body)
	}
	if resp, body := c.answer("POST"); body != "POST /b  abc" || !resp.Close {
		t.Errorf("%v %q", resp, body)
	}
	c.end()
	if got := s.Stats(); got.Requests != 5 || got.Accepted != 1 || got.Refused != 0 || got.Turns == 0 {
		t.Errorf("%+v", got)
	}
}

// A client of HTTP/1.0 keeps its connection where it asks for it.
func TestHTTP10(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial()
	for range 3 {
		c.send("POST /a HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc")
		if resp, body := c.answer("POST"); body != "POST /a  abc" || resp.Header.Get("Connection") != "keep-alive" || resp.ContentLength != 12 {
			t.Errorf("%v %q", resp, body)
		}
	}
	c.send("GET /a HTTP/1.0\r\n\r\n" + get)
	if resp, body := c.answer("GET"); body != "GET /a  " || !resp.Close {
		t.Errorf("%v %q", resp, body)
	}
	c.end()
	coded := s.dial()
	coded.send("POST /a HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get)
	if resp, _ := coded.answer("POST"); resp.StatusCode != 400 || !resp.Close {
		t.Errorf("%v", resp)
	}
	coded.end()
	if got := s.Stats(); got.Requests != 4 || got.Accepted != 2 {
		t.Errorf("%+v", got)
	}
}

// Responses come in the order of the requests, regardless of the order of completion and of the
// pieces in which they arrived.
func TestOrder(t *testing.T) {
	var mu sync.Mutex
	var held []*Request
	s := serve(t, Options{Loops: 2, MaxPipelined: 8, Turn: func(_ int, requests []*Request) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range requests {
			echo(r)
		}
		held = append(held, requests...)
	}})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // completes the latest first
		defer close(stopped)
		for {
			mu.Lock()
			for len(held) > 0 {
				last := len(held) - 1
				Done(held[last])
				held = held[:last]
			}
			mu.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c := s.dial()
			var text strings.Builder
			const many = 100
			for n := range many {
				body := strings.Repeat("x", n*i)
				fmt.Fprintf(&text, "POST /%d/%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", i, n, len(body), body)
			}
			go io.WriteString(c, text.String())
			for n := range many {
				if _, body := c.answer("POST"); body != fmt.Sprintf("POST /%d/%d  %s", i, n, strings.Repeat("x", n*i)) {
					t.Errorf("answer %d of connection %d: %.60q", n, i, body)
					return
				}
			}
		})
	}
	all.Wait()
}

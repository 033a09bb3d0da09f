//go:build linux

package httploop

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/quicktest"
)

// A refusal reaches the client even while it sends; then the connection ends, and nothing that
// follows is served.
func TestRefuses(t *testing.T) {
	s := serve(t, Options{MaxHead: 1024, MaxBody: 300})
	long := strings.Repeat("x", 1<<20)
	for text, want := range map[string]int{
		"GET /" + long + " HTTP/1.1\r\nHost: x\r\n\r\n":                                                         414,
		"GET / HTTP/1.1\r\nHost: x\r\nA: " + long + "\r\n\r\n":                                                  431,
		"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 99) + strings.Repeat("A: c\r\n", 99) + get: 431,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + long:                                  413,
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + long:                     413,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc" + get:        400,
		"GET / HTTP/1.1\nHost: x\n\n": 400,
	} {
		c := s.dial()
		c.send(get)
		c.answer("GET")
		go io.WriteString(c, text)
		resp, body := c.answer("GET")
		if resp.StatusCode != want || !resp.Close || body == "" {
			t.Errorf("%.80q: %d %q, want %d", text, resp.StatusCode, body, want)
		}
		c.end()
	}
	if got := s.Stats(); got.Refused != 7 || got.Requests != 7 {
		t.Errorf("%+v", got)
	}
}

// A body may arrive in any pieces, and a client that expects 100 Continue receives it.
func TestBodies(t *testing.T) {
	s := serve(t, Options{MaxHead: 1024, MaxBody: 1 << 20})
	body := strings.Repeat("0123456789", 50_000)
	c := s.dial()
	c.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 500000\r\n\r\n")
	if line, err := c.in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q %v", line, err)
	}
	c.in.ReadString('\n')
	c.send(body)
	if _, got := c.answer("POST"); got != "POST /a  "+body {
		t.Errorf("%d bytes, %.40q", len(got), got)
	}
	var chunks strings.Builder
	for i := 0; i < len(body); i += 777 {
		piece := body[i:min(i+777, len(body))]
		fmt.Fprintf(&chunks, "%x\r\n%s\r\n", len(piece), piece)
	}
	c.send("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks.String() + "0\r\nA: b\r\n\r\n" + get)
	if _, got := c.answer("POST"); got != "POST /b  "+body {
		t.Errorf("%d bytes, %.40q", len(got), got)
	}
	if _, got := c.answer("GET"); got != "GET /a b=c " {
		t.Errorf("%.40q", got)
	}
}

// Requests of which one may change what another one reads do not run concurrently, although they
// arrived together.
func TestUnsafeMethodsRunAlone(t *testing.T) {
	requests := make(chan *Request, 10)
	s := serve(t, Options{Turn: func(_ int, batch []*Request) {
		for _, r := range batch {
			requests <- r
		}
	}})
	c := s.dial()
	c.send(get + get + "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + get)
	first, second := <-requests, <-requests
	if len(requests) > 0 {
		t.Error("a POST began beside GETs")
	}
	echo(first)
	echo(second)
	Done(second, first)
	post := <-requests
	if post.Method != "POST" || len(requests) > 0 {
		t.Errorf("%s, and %d more", post.Method, len(requests))
	}
	echo(post)
	Done(post)
	last := <-requests
	echo(last)
	Done(last)
	for _, want := range []string{"GET /a b=c ", "GET /a b=c ", "POST /p  ", "GET /a b=c "} {
		if _, got := c.answer("GET"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A client that sends slowly, sends nothing, or does not read loses its connection. The limits of
// the other ways are long, as a busy machine may keep a client from sending in time.
func TestTimeouts(t *testing.T) {
	const short = 300 * time.Millisecond
	long := func(_ int, requests []*Request) {
		for _, r := range requests {
			r.Response.Status = 200
			r.Response.Body = append(r.Response.Body, make([]byte, 1<<20)...)
		}
		Done(requests...)
	}
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		c := serve(t, Options{IdleTimeout: short}).dial()
		c.send(get)
		c.answer("GET")
		c.end()
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		serve(t, Options{ReadTimeout: short}).dial().end()
	})
	for name, text := range map[string]string{
		"half a header": "GET / HTTP/1.1\r\nHost: x\r\nA", "half a body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
		"half a chunk": chunkedHead + "3\r\nab", "half a chunk's size": chunkedHead + "1\r\na\r\n3", "no last chunk": chunkedHead + "1\r\na\r\n", "half a trailer": chunkedHead + "0\r\nA",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, Options{ReadTimeout: short})
			for refused := false; !refused; { // until it is not silent for too long before it sends
				c := s.dial()
				io.WriteString(c, text)
				refused = c.refused(t)
			}
		})
	}
	t.Run("deaf", func(t *testing.T) {
		t.Parallel()
		s := serve(t, Options{WriteTimeout: short, Turn: long})
		c := s.dial()
		go io.WriteString(c, strings.Repeat(get, 100_000))
		for s.Stats().Accepted == 0 || s.Stats().Connections > 0 {
			runtime.Gosched()
		}
		if n, err := io.Copy(io.Discard, c); err == nil && n > 64<<20 {
			t.Errorf("%d bytes were written for a client that did not read", n)
		}
	})
}

const chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

// refused reports whether a late request was refused, and not by the end of the connection alone.
func (c *client) refused(t *testing.T) bool {
	t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 408 || !resp.Close {
		t.Errorf("%v, %v", resp, err)
	}
	c.end()
	return true
}

// Above MaxConnections a client gets a refusal; after another client has left, it is served.
func TestMaxConnections(t *testing.T) {
	s := serve(t, Options{MaxConnections: 3, Loops: 2})
	var held []*client
	for range 3 {
		c := s.dial()
		c.send(get)
		c.answer("GET")
		held = append(held, c)
	}
	beyond := s.dial()
	if resp, body := beyond.answer("GET"); resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || !resp.Close {
		t.Errorf("%v %q", resp, body)
	}
	beyond.end()
	beyond.Close()
	held[1].Close()
	for s.Stats().Connections > 2 {
		runtime.Gosched()
	}
	c := s.dial()
	c.send(get)
	c.answer("GET")
}

// A client that has closed its sending side still gets its response.
func TestHalfClosed(t *testing.T) {
	s := serve(t, Options{})
	c := s.dial()
	c.send(get + get)
	c.CloseWrite()
	for range 2 {
		c.answer("GET")
	}
	c.end()
}

// A request whose client has left is completed like any other, and its connection is removed.
func TestGone(t *testing.T) {
	requests := make(chan *Request, 2)
	s := serve(t, Options{Turn: func(_ int, batch []*Request) {
		for _, r := range batch {
			requests <- r
		}
	}})
	c := s.dial()
	c.send(get + get)
	first, second := <-requests, <-requests
	c.reset()
	for _, r := range []*Request{second, first} {
		if r.Path != "/a" {
			t.Errorf("%q", r.Path)
		}
		echo(r)
		Done(r)
	}
	for s.Stats().Connections > 0 {
		runtime.Gosched()
	}
}

// A lame duck accepts and answers, and each response is the last of its connection. Drain answers
// requests in progress and accepts no more connections.
func TestDrain(t *testing.T) {
	release := make(chan struct{})
	var waiting sync.WaitGroup
	began := make(chan struct{}, 1)
	s := serve(t, Options{Loops: 2, Turn: func(_ int, requests []*Request) {
		for _, r := range requests {
			echo(r)
			if r.Path != "/slow" {
				Done(r)
				continue
			}
			began <- struct{}{}
			waiting.Go(func() { <-release; Done(r) })
		}
	}})
	defer waiting.Wait()
	idle, slow := s.dial(), s.dial()
	idle.send(get)
	idle.answer("GET")
	s.LameDuck()
	fresh := s.dial()
	fresh.send(get)
	if resp, _ := fresh.answer("GET"); resp.StatusCode != 200 || !resp.Close {
		t.Errorf("%d, close %t", resp.StatusCode, resp.Close)
	}
	fresh.end()
	slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	down := make(chan error)
	go func() { down <- s.Drain(context.Background()) }()
	for {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			break
		}
		c.Close()
	}
	idle.end()
	close(release)
	if resp, body := slow.answer("GET"); body != "GET /slow  " || !resp.Close {
		t.Errorf("%q, close %t", body, resp.Close)
	}
	slow.end()
	if err := <-down; err != nil {
		t.Error(err)
	}
	s.ended <- <-s.ended // for the end of the test
}

// A request on an existing connection is answered even after Drain has begun.
func TestDrainAnswersLateRequests(t *testing.T) {
	s := serve(t, Options{lull: time.Hour})
	used, fresh := s.dial(), s.dial()
	used.send(get)
	used.answer("GET")
	down := make(chan error)
	go func() { down <- s.Drain(context.Background()) }()
	for {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			break
		}
		c.Close()
	}
	for _, c := range []*client{used, fresh} {
		c.send(get)
		if resp, _ := c.answer("GET"); resp.StatusCode != 200 || !resp.Close {
			t.Errorf("%d, close %t", resp.StatusCode, resp.Close)
		}
		c.end()
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	s.ended <- <-s.ended
}

// Requests that do not end are cut off and counted; Drain waits until they are completed.
func TestCutOff(t *testing.T) {
	requests := make(chan *Request, 1)
	s := serve(t, Options{Turn: func(_ int, batch []*Request) { requests <- batch[0] }})
	c := s.dial()
	c.send(get)
	r := <-requests
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	down := make(chan error)
	go func() { down <- s.Drain(ctx) }()
	if rest, _ := io.ReadAll(c.in); len(rest) > 0 {
		t.Errorf("%q", rest)
	}
	select {
	case err := <-down:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	Done(r)
	if err := <-down; err == nil || !strings.HasPrefix(err.Error(), "1 requests were still under way after ") {
		t.Error(err)
	}
	s.ended <- <-s.ended
}

// A request costs no allocation, whichever goroutine completes it.
func TestAllocs(t *testing.T) {
	if quicktest.Race {
		t.Skip("the race detector allocates")
	}
	complete := make(chan *Request, 64)
	completed := make(chan struct{})
	go func() {
		defer close(completed)
		for r := range complete {
			Done(r)
		}
	}()
	s := serve(t, Options{Turn: func(_ int, requests []*Request) {
		for _, r := range requests {
			r.Response.Status = 200
			r.Response.Add("Content-Type", "text/plain")
			r.Response.Body = append(r.Response.Body, r.Path...)
			if r.Path == "/here" {
				Done(r)
			} else {
				complete <- r
			}
		}
	}})
	defer func() { close(complete); <-completed }()
	for _, path := range []string{"/here", "/elsewhere"} {
		c := s.dial()
		text := []byte("POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("x", 400) + "\r\nContent-Length: 3\r\n\r\nabc")
		c.send(string(text))
		c.answer("POST")
		answer := make([]byte, len("HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n")+len(path))
		if len(path) > 9 {
			answer = append(answer, 0) // one more digit
		}
		if n := testing.AllocsPerRun(2000, func() {
			c.Write(text)
			if _, err := io.ReadFull(c.in, answer); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

package http1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t testing.TB, timeout time.Duration) *Client {
	c := &Client{Dial: new(net.Dialer).DialContext, Timeout: timeout, MaxIdle: 10, MaxHeader: 8 << 10, MaxAnswer: 8 << 10}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func newRequest(t testing.TB, ctx context.Context, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Test", "yes")
	return req
}

// scripted answers each request with the same bytes, one connection after the other. It then closes
// the connection or leaves it open.
type scripted struct {
	url         string
	connections atomic.Int64
	requests    atomic.Int64
}

func newScripted(t testing.TB, answer string, closes bool) *scripted {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{url: "http://" + l.Addr().String() + "/hook"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.serve(conn, answer, closes)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return s
}

func (s *scripted) serve(conn net.Conn, answer string, closes bool) {
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for {
		if _, err := conn.Read(buf); err != nil { // a request is one write, and so one read
			return
		}
		s.requests.Add(1)
		io.WriteString(conn, answer)
		if closes {
			return
		}
	}
}

func TestAnswers(t *testing.T) {
	long := strings.Repeat("x", 10<<10)
	for _, tt := range []struct {
		name, answer string
		closes       bool
		status       int // 0 means an error
		reused       bool
	}{
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", false, 204, true},
		{"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, 200, true},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, 200, true},
		{"a failure", "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", false, 503, true},
		{"a redirect", "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", false, 302, true},
		{"an interim answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false, 204, true},
		{"interim answers without end", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 10), false, 0, false},
		{"it closes", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", true, 200, false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", true, 200, false},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", false, 101, false},
		{"a long body", "HTTP/1.1 200 OK\r\nContent-Length: 10240\r\n\r\n" + long, false, 200, false},
		{"a body that is cut off", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", true, 200, false},
		{"two answers", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 204, false},
		{"a long header", "HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n", false, 0, false},
		{"no HTTP", "hello\r\n\r\n", false, 0, false},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-", true, 0, false},
		{"nothing", "", true, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := newScripted(t, tt.answer, tt.closes), newClient(t, 10*time.Second)
			const requests = 3
			for range requests {
				resp, err := c.Do(newRequest(t, t.Context(), s.url, "body"))
				if (err != nil) != (tt.status == 0) || err == nil && resp.StatusCode != tt.status {
					t.Fatalf("%v, %v; want status %d", resp, err, tt.status)
				}
				if err == nil && resp.Header.Get("Retry-After") != "" != (tt.status == 503) {
					t.Errorf("header %v", resp.Header)
				}
			}
			want := int64(requests)
			if tt.reused {
				want = 1
			}
			if n := s.connections.Load(); n != want || s.requests.Load() != requests {
				t.Errorf("%d connections, want %d; %d requests, want %d", n, want, s.requests.Load(), requests)
			}
		})
	}
}

// A server reads what net/http would have sent it.
func TestRequest(t *testing.T) {
	for _, secure := range []bool{false, true} {
		seen := make(chan string, 1)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen <- fmt.Sprint(r.Method, r.RequestURI, r.Host, r.Proto, r.ContentLength, r.Header, string(body))
		}))
		s.EnableHTTP2 = true
		c := newClient(t, 10*time.Second)
		if secure {
			s.StartTLS()
			c.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
		} else {
			s.Start()
		}
		defer s.Close()
		for range 2 {
			if _, err := c.Do(newRequest(t, t.Context(), s.URL+"/a%20b?c=d#e", "body")); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint("POST", "/a%20b?c=d", s.Listener.Addr(), "HTTP/1.1", 4, http.Header{"Content-Length": {"4"}, "X-Test": {"yes"}}, "body")
			if got := <-seen; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
		if c.kept != 1 {
			t.Errorf("%d connections are kept", c.kept)
		}
	}
}

// A certificate for another name is refused.
func TestCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // about the handshake that the client aborts
	s.StartTLS()
	defer s.Close()
	if _, err := newClient(t, 10*time.Second).Do(newRequest(t, t.Context(), s.URL, "body")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}

// A connection is not reused after the server closed it, or sent bytes on it, while it was idle.
func TestServerCloses(t *testing.T) {
	for name, spoil := range map[string]func(net.Conn){
		"closes": func(c net.Conn) { c.Close() },
		"speaks": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 500 Wrong\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan net.Conn, 3)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { opened <- c; return ctx }
			s.Start()
			defer s.Close()
			c := newClient(t, 10*time.Second)
			for range 3 {
				resp, err := c.Do(newRequest(t, t.Context(), s.URL, "body"))
				if err != nil || resp.StatusCode != 200 {
					t.Fatal(resp, err)
				}
				kept := c.take(server{"http", s.Listener.Addr().String()})
				if kept == nil || !kept.quiet() {
					t.Fatal("the connection is of no more use after an answer")
				}
				spoil(<-opened)
				for kept.quiet() { // until loopback has delivered it
				}
				c.keep(kept)
			}
		})
	}
}

// A request that a connection accepted no byte of is sent on another one.
func TestWritesAgain(t *testing.T) {
	s, c := newScripted(t, "HTTP/1.1 204 No Content\r\n\r\n", false), newClient(t, 10*time.Second)
	for range 2 {
		if _, err := c.Do(newRequest(t, t.Context(), s.url, "body")); err != nil {
			t.Fatal(err)
		}
		for _, list := range c.idle {
			list[0].raw.(*net.TCPConn).CloseWrite()
		}
	}
	if s.connections.Load() != 2 || s.requests.Load() != 2 {
		t.Errorf("%d connections, %d requests", s.connections.Load(), s.requests.Load())
	}
}

func TestTimeout(t *testing.T) {
	s := newScripted(t, "", false)
	_, err := newClient(t, 20*time.Millisecond).Do(newRequest(t, t.Context(), s.url, "body"))
	if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("error %v", err)
	}
}

// The status counts although the body never ends.
func TestEndlessBody(t *testing.T) {
	s := newScripted(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", false)
	for timeout := 100 * time.Millisecond; ; timeout *= 4 {
		resp, err := newClient(t, timeout).Do(newRequest(t, t.Context(), s.url, "body"))
		if late := net.Error(nil); errors.As(err, &late) && late.Timeout() && timeout < time.Minute {
			continue // on a busy machine the status may be late
		}
		if err != nil || resp.StatusCode != 200 {
			t.Error(resp, err)
		}
		return
	}
}

// The end of the context ends requests in progress and idle connections.
func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "hang" {
			close(arrived)
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	c := newClient(t, time.Hour)
	if _, err := c.Do(newRequest(t, ctx, s.URL, "body")); err != nil {
		t.Fatal(err)
	}
	go func() { <-arrived; cancel() }()
	if _, err := c.Do(newRequest(t, ctx, s.URL, "hang")); err == nil {
		t.Error("there is an answer")
	}
}

func TestUnfit(t *testing.T) {
	c := newClient(t, time.Second)
	for _, req := range []*http.Request{
		newRequest(t, t.Context(), "http://127.0.0.1:1/", ""),
		newRequest(t, t.Context(), "http://127.0.0.1:1/", strings.Repeat("x", MaxBody+1)),
		newRequest(t, t.Context(), "http://bücher.example/", "body"),
		newRequest(t, t.Context(), "http://[fe80::1%25lo]:1/", "body"),
		newRequest(t, t.Context(), "ftp://127.0.0.1:1/", "body"),
	} {
		if _, err := c.Do(req); err != ErrUnfit {
			t.Errorf("%s: %v", req.URL, err)
		}
	}
	s := newScripted(t, "HTTP/1.1 204 No Content\r\n\r\n", false)
	bad := newRequest(t, t.Context(), s.url, "body")
	bad.Header["X"] = []string{"a\r\nHost: b"}
	if _, err := c.Do(bad); err == nil || s.requests.Load() > 0 {
		t.Errorf("a header with a line end: %v", err)
	}
}

// At most MaxIdle connections are kept, and those that are idle for too long are closed.
func TestKeeps(t *testing.T) {
	c := newClient(t, 10*time.Second)
	var servers []*scripted
	for range c.MaxIdle + 5 {
		servers = append(servers, newScripted(t, "HTTP/1.1 204 No Content\r\n\r\n", false))
	}
	for range 3 {
		for _, s := range servers {
			if _, err := c.Do(newRequest(t, t.Context(), s.url, "body")); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func() (n int) {
		for _, list := range c.idle {
			n += len(list)
		}
		return n
	}
	if c.kept != c.MaxIdle || count() != c.MaxIdle {
		t.Errorf("%d connections are kept, counted as %d", count(), c.kept)
	}
	young := 3
	for _, list := range c.idle {
		for _, conn := range list {
			if young--; young < 0 {
				conn.since = conn.since.Add(-keepFor)
			}
		}
	}
	if c.expire(); c.kept != 3 || count() != 3 || len(c.idle) != 3 {
		t.Errorf("%d connections are kept, counted as %d, to %d servers", count(), c.kept, len(c.idle))
	}
}

type countingConn struct {
	net.Conn
	reads, writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) { c.writes.Add(1); return c.Conn.Write(b) }
func (c countingConn) Read(b []byte) (int, error)  { c.reads.Add(1); return c.Conn.Read(b) }

// A request is one write, and its answer one read.
func TestSystemCalls(t *testing.T) {
	s, c := newScripted(t, "HTTP/1.1 204 No Content\r\n\r\n", false), newClient(t, 10*time.Second)
	var reads, writes atomic.Int64
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countingConn{conn, &reads, &writes}, err
	}
	for range 10 {
		if _, err := c.Do(newRequest(t, t.Context(), s.url, "body")); err != nil {
			t.Fatal(err)
		}
	}
	if reads.Load() != 10 || writes.Load() != 10 {
		t.Errorf("10 requests took %d reads and %d writes", reads.Load(), writes.Load())
	}
}

// An exchange allocates only the response: 14 allocations when this was written.
func TestAllocations(t *testing.T) {
	s, c := newScripted(t, "HTTP/1.1 204 No Content\r\nDate: Mon, 23 Nov 2026 05:32:04 GMT\r\n\r\n", false), newClient(t, 10*time.Second)
	req := newRequest(t, t.Context(), s.url, "body")
	body := []byte("body")
	got := testing.AllocsPerRun(200, func() {
		req.Body = io.NopCloser(bytes.NewReader(body))
		if _, err := c.Do(req); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations", got)
	if got > 20 {
		t.Errorf("a request takes %v allocations", got)
	}
}

// For any bytes from a server, Do returns a response or an error, and a connection with unread
// bytes is not reused.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := newClient(t, 10*time.Second)
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			return &canned{Reader: bytes.NewReader(answer)}, nil
		}
		resp, err := c.Do(newRequest(t, t.Context(), "http://127.0.0.1/", "body"))
		if (resp == nil) == (err == nil) {
			t.Fatal(resp, err)
		}
		if c.kept > 0 {
			kept := c.take(server{"http", "127.0.0.1"})
			if left := kept.raw.(*canned).Len(); left > 0 || kept.answers.Buffered() > 0 {
				t.Fatalf("a connection is kept on which %d bytes came after the answer", left+kept.answers.Buffered())
			}
			kept.end()
		}
	})
}

// canned is a connection on which a response has already arrived.
type canned struct {
	net.Conn
	*bytes.Reader
}

func (c *canned) Read(b []byte) (int, error)       { return c.Reader.Read(b) }
func (c *canned) Write(b []byte) (int, error)      { return len(b), nil }
func (c *canned) Close() error                     { return nil }
func (c *canned) SetDeadline(time.Time) error      { return nil }
func (c *canned) WriteTo(io.Writer) (int64, error) { return 0, errors.ErrUnsupported }

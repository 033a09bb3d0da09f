//go:build linux

package httploop

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyno/parts/lameduck"
)

// before runs a server before net/http's until the end of the test: what does not stay on the loop
// is the handler's. By default the loop echoes.
func before(t *testing.T, o Options, other http.HandlerFunc) *served {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	leave, left := l.HandOver()
	o.Leave, o.TLS, o.Loops = leave, everywhere, 1
	if o.Turn == nil {
		o.Turn = echoes
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := lameduck.NewServer(&http.Server{Handler: other}, l)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l.TCP()); err != nil {
			t.Error(err)
		}
	})
	serving.Go(func() {
		if everywhere != nil {
			web.Serve(lameduck.TLS(l, everywhere))
			return
		}
		web.Serve(l)
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		serving.Go(func() {
			if err := s.Drain(ctx); err != nil {
				t.Error(err)
			}
			left()
		})
		if err := web.Drain(ctx); err != nil {
			t.Error(err)
		}
		serving.Wait()
		if n := s.Stats().Connections; n != 0 {
			t.Errorf("%d connections are counted at the end", n)
		}
	})
	return &served{s, t, l.Addr().String(), nil}
}

func other(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "other %s %s", r.URL.Path, body)
}

func (c *client) ask(path, body string) string {
	c.t.Helper()
	c.send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
	_, answer := c.answer("POST")
	return answer
}

// A connection that left for one request comes back for the next, any number of times.
func TestReturns(t *testing.T) {
	s := before(t, Options{Serves: onlyA}, other)
	c := s.dial()
	elsewhere := 0
	for round := range 20 {
		elsewhere++
		text := strings.Repeat("x", 100*round)
		if got := c.ask("/b", text); got != "other /b "+text {
			t.Fatalf("round %d: %q", round, got)
		}
		back := false
		for range 10_000 { // net/http keeps a connection whose next request is faster than its own end of the one before
			got := c.ask("/a", text)
			if back = got == "POST /a  "+text; back {
				break
			}
			if got != "other /a "+text {
				t.Fatalf("round %d: %q", round, got)
			}
			elsewhere++
		}
		if !back {
			t.Fatalf("round %d: the connection did not come back", round)
		}
		for range worth {
			if got := c.ask("/a", text); got != "POST /a  "+text {
				t.Fatalf("round %d: %q after the connection came back", round, got)
			}
		}
	}
	if n := s.HandedOver()[ReasonPath]; n != 20 {
		t.Errorf("it left %d times, want 20", n)
	}
	if n := s.Stats(); n.Connections != 1 || n.Accepted != 1 || n.Elsewhere != uint64(elsewhere) {
		t.Errorf("%d connections of %d accepted ones, want 1 of 1; %d requests elsewhere, want %d", n.Connections, n.Accepted, n.Elsewhere, elsewhere)
	}
	c.send("POST /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	if _, got := c.answer("POST"); got != "other /b " {
		t.Error(got)
	}
	c.end()
}

// A connection that has requests for the other server alone comes back ever more rarely.
func TestReturnsLessOften(t *testing.T) {
	s := before(t, Options{Serves: onlyA}, other)
	c := s.dial()
	for range 100 {
		if got := c.ask("/b", "x"); got != "other /b x" {
			t.Fatal(got)
		}
	}
	if n := s.HandedOver()[ReasonPath]; n < 2 || n > 7 { // away for 1, 2, 4, 8, 16, 32 and 64 requests
		t.Errorf("it left %d times in 100 requests", n)
	}
}

// However often a connection leaves, it is away for a bounded number of requests.
func TestStaysBounded(t *testing.T) {
	left := make(chan lameduck.Handed)
	s := serve(t, Options{Serves: onlyA, Leave: func(h lameduck.Handed) { go func() { left <- h }() }})
	c := s.dial()
	for i, want := range []uint64{1, 2, 4, 8, 16, 32, 64, 64, 64} {
		c.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
		h := <-left
		if h.Stay != want {
			t.Fatalf("the %d. time it is away for %d requests, want %d", i+1, h.Stay, want)
		}
		h.Origin.Reserve()
		h.Origin.Take()
	}
}

// HTTP/2 is the other server's, which is counted.
func TestElsewhereOverHTTP2(t *testing.T) {
	everywhere = selfSigned(t)
	t.Cleanup(func() { everywhere = nil })
	s := before(t, Options{Serves: onlyA}, other)
	web := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer web.CloseIdleConnections()
	for range 3 {
		resp, err := web.Get("https://" + s.address + "/a")
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatal(resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := s.Stats(); n.Elsewhere != 3 || n.Requests != 0 || s.HandedOver()[ReasonHTTP2] != 1 {
		t.Errorf("%+v, handed over %v", n, s.HandedOver())
	}
}

// Requests that arrive together are answered in order, whichever server answers them.
func TestReturnsBetweenPipelined(t *testing.T) {
	s := before(t, Options{Serves: onlyA}, other)
	c := s.dial()
	const mix = get + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n" + get + "GET /c HTTP/1.1\r\nHost: x\r\n\r\n" + get
	for range 50 {
		c.send(mix)
		for _, want := range []string{"/a", "/b", "/a", "/c", "/a"} {
			if _, got := c.answer("GET"); !strings.Contains(got, want+" ") {
				t.Fatalf("%q instead of an answer for %s", got, want)
			}
		}
	}
	if s.HandedOver()[ReasonPath] < 2 || s.Stats().Requests == 0 {
		t.Errorf("handed over %v, %d requests on the loop: it did not come back", s.HandedOver(), s.Stats().Requests)
	}
}

// Bytes that net/http has not read yet are not lost, whatever its buffer holds; and an empty line
// after a body is no request, on either server.
func TestReturnsWithoutLoss(t *testing.T) {
	const head, next = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nX: ", "POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz"
	s := before(t, Options{Serves: onlyA}, other)
	for _, between := range []string{"\n", "\r\n"} {
		for n := 4090; n <= 4100; n++ { // around what net/http reads in one go
			c := s.dial()
			c.send(head + strings.Repeat("p", n-14-len(head)) + "\r\n\r\n0123456789" + between + next)
			for _, want := range []string{"other /b 0123456789", "other /c z"} {
				if _, got := c.answer("POST"); got != want {
					t.Fatalf("%d bytes: %q, want %q", n, got, want)
				}
			}
		}
	}
	c := s.dial()
	for range 20 {
		c.ask("/b", "x")
		c.send("\r\n")
		c.ask("/a", "x")
		c.send("\r\n")
	}
}

// Without a free descriptor a connection stays where it is, or is answered 503.
func TestReturnsWithoutFiles(t *testing.T) {
	const length = "Content-Length: 1\r\n\r\nz"
	working, finish := make(chan bool), make(chan bool)
	s := before(t, Options{Serves: onlyA}, func(w http.ResponseWriter, r *http.Request) {
		working <- true
		<-finish
		other(w, r)
	})
	c, late := s.dial(), s.dial()
	late.ask("/a", "x")
	c.send("POST /b HTTP/1.1\r\nHost: x\r\n" + length)
	<-working
	restore := fewFiles(t)
	finish <- true
	if _, got := c.answer("POST"); got != "other /b z" {
		t.Errorf("%q", got)
	}
	late.send("POST /b HTTP/1.1\r\nHost: x\r\n" + length)
	if resp, _ := late.answer("POST"); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("without files: %s", resp.Status)
	}
	restore()
	go func() { <-working; finish <- true }()
	if got := c.ask("/b", "x"); got != "other /b x" {
		t.Errorf("%q", got)
	}
}

// fewFiles lets the process open no more files until restore is called.
func fewFiles(t *testing.T) (restore func()) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	none := now
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	return func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now) }
}

// A server that drains does not wait for a connection that is away and silent.
func TestDrainOfReturning(t *testing.T) {
	for range 8 {
		s := before(t, Options{Serves: onlyA, lull: time.Millisecond}, other)
		c := s.dial()
		c.ask("/b", "x") // the end of the test drains while the connection returns
	}
}

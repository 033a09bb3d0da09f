package lameduck_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/parts/lameduck"
	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// program is a server under test.
type program struct {
	*lameduck.Server
	listener *lameduck.Listener
	address  string
}

func start(t *testing.T, config *tls.Config, h http.HandlerFunc, change ...func(*http.Server)) program {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	for _, f := range change {
		f(server)
	}
	p := program{lameduck.NewServer(server, l), l, l.Addr().String()}
	over := net.Listener(l)
	if config != nil {
		over = tls.NewListener(l, config)
	}
	go p.Serve(over)
	return p
}

// drain stops it without a lame duck period.
func (p program) drain(t *testing.T) {
	t.Helper()
	if err := p.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

func TestNoRequestIsLost(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	config := &tls.Config{Certificates: certified.TLS.Certificates}
	const window = 300 * time.Millisecond
	for name, over := range map[string]*tls.Config{"plain": nil, "TLS": config} {
		t.Run(name, func(t *testing.T) {
			for range quicktest.Of(1, 4) {
				p := start(t, over, hello)
				lameducktest.Run(t, lameducktest.Program{
					Dial: func() (net.Conn, error) {
						if over == nil {
							return net.Dial("tcp", p.address)
						}
						return tls.Dial("tcp", p.address, &tls.Config{InsecureSkipVerify: true})
					},
					Request: func(int, int) string { return get },
					Good:    func(r *http.Response) bool { return r.StatusCode == http.StatusOK },
					Window:  window,
					Stop: func() {
						p.LameDuck()
						time.Sleep(window)
						p.drain(t)
					},
				})
			}
		})
	}
}

// dial sends text and reads n responses.
func (p program) dial(t *testing.T, text string, n int) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, text)
	in := bufio.NewReader(c)
	for range n {
		answer(t, in)
	}
	return c, in
}

func answer(t *testing.T, in *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	return resp
}

// Connections without a request end with EOF; those with a request end after its response.
func TestDrain(t *testing.T) {
	began, finish := make(chan bool), make(chan bool)
	p := start(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- true
			<-finish
		}
		hello(w, r)
	})
	_, silent := p.dial(t, "", 0)
	_, idle := p.dial(t, get, 1)
	_, slow := p.dial(t, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n", 0)
	<-began
	drained := make(chan bool)
	go func() {
		defer close(drained)
		p.drain(t)
	}()
	for _, in := range []*bufio.Reader{silent, idle} {
		if _, err := in.ReadByte(); err != io.EOF {
			t.Errorf("a connection without a request: %v, want EOF", err)
		}
	}
	select {
	case <-drained:
		t.Error("a request is under way")
	default:
	}
	close(finish)
	answer(t, slow)
	<-drained
	if c, err := net.Dial("tcp", p.address); err == nil {
		c.Close()
		t.Error("it still accepts")
	}
}

// Connections that the kernel has accepted before the seal are served, although the server has not
// accepted them yet.
func TestSealKeepsTheQueue(t *testing.T) {
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const queued = 20
	clients := make([]net.Conn, queued)
	for i := range clients {
		if clients[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	l.Seal()
	for i := range queued {
		c, err := l.Accept()
		if err != nil {
			t.Fatalf("connection %d of %d: %v", i, queued, err)
		}
		defer c.Close()
	}
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("one more connection than there were")
	}
}

// After the seal the kernel takes no connection, so that none is reset by the close.
func TestSealRefuses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can seal a socket")
	}
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Seal()
	if c, err := net.DialTimeout("tcp", l.Addr().String(), lameduck.Handshake); err == nil {
		c.Close()
		t.Error("a connection is established")
	}
}

// A listener whose Accept fails permanently does not keep Drain waiting.
func TestDrainAfterAFailedListener(t *testing.T) {
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := l.TCP().SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = syscall.Shutdown(int(fd), syscall.SHUT_RD) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("Accept: %v, want EINVAL", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if l.Drain(ctx); ctx.Err() != nil {
		t.Error("Drain waited for connections of a listener that accepts none")
	}
}

// A client that goes on sending after the last response receives that response, and no reset before
// it.
func TestTheLastAnswerArrives(t *testing.T) {
	p := start(t, nil, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) })
	c, in := p.dial(t, get, 1)
	p.LameDuck()
	go func() {
		for range 10 {
			io.WriteString(c, get)
		}
	}()
	if resp := answer(t, in); !resp.Close {
		t.Error("it does not say that the connection closes")
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the answer: %v, want EOF", err)
	}
	p.drain(t)
}

// Requests that do not end in time are cut off, and that is an error.
func TestCutOff(t *testing.T) {
	began := make(chan bool)
	p := start(t, nil, func(w http.ResponseWriter, r *http.Request) {
		began <- true
		<-r.Context().Done()
	})
	p.dial(t, get, 0)
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Drain(ctx); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("%v, want that a request was cut off", err)
	}
}

// Beyond its bound a listener refuses connections, also while a handler has taken some over, and
// takes them again when others have ended.
func TestMaxConnections(t *testing.T) {
	taken := make(chan net.Conn, 1)
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Door.Most = 2
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/take" {
			c, _, _ := w.(http.Hijacker).Hijack()
			taken <- c
			return
		}
		hello(w, r)
	})}
	p := program{lameduck.NewServer(server, l), l, l.Addr().String()}
	go p.Serve(l)
	p.dial(t, get, 1)
	p.dial(t, "GET /take HTTP/1.1\r\nHost: x\r\n\r\n", 0)
	one := <-taken
	_, refused := p.dial(t, "", 0)
	if resp := answer(t, refused); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the third: %s", resp.Status)
	}
	one.Close()
	one.Close()
	_, in := p.dial(t, get, 0)
	if resp := answer(t, in); resp.StatusCode != http.StatusOK {
		t.Errorf("after one has ended: %s", resp.Status)
	}
	p.drain(t)
}

// A body that stops arriving does not hold the drain up, and its handler can still answer. A
// request that has arrived is answered, however long that takes.
func TestBodiesThatStop(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
	const halves = 20
	began, finish := make(chan bool, halves+1), make(chan bool)
	var said bytes.Buffer
	p := start(t, nil, func(w http.ResponseWriter, r *http.Request) {
		began <- true
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		<-finish
		if r.Context().Err() == nil {
			hello(w, r)
		}
	}, func(s *http.Server) { s.ErrorLog = log.New(&said, "", 0) })
	var cut []*bufio.Reader
	for range halves {
		_, in := p.dial(t, post+"ha", 0)
		cut = append(cut, in)
	}
	_, whole := p.dial(t, post+"body", 0)
	for range halves + 1 {
		<-began
	}
	drained := make(chan bool)
	go func() {
		defer close(drained)
		p.drain(t)
	}()
	for _, in := range cut {
		if resp := answer(t, in); resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("half a body: %s", resp.Status)
		}
	}
	close(finish)
	if resp := answer(t, whole); resp.StatusCode != http.StatusOK {
		t.Errorf("a whole body: %s", resp.Status)
	}
	<-drained
	if want := fmt.Sprintf("%d requests had not arrived whole", halves); !strings.Contains(said.String(), want) {
		t.Errorf("the log is %q, want %q", said.String(), want)
	}
}

// stalls is a connection whose second write, which completes a TLS handshake, waits.
type stalls struct {
	net.Conn
	writes        int
	reached, goOn chan bool
}

func (s *stalls) Write(p []byte) (int, error) {
	if s.writes++; s.writes == 2 {
		s.reached <- true
		<-s.goOn
	}
	return s.Conn.Write(p)
}

// A connection in a TLS handshake does not count as idle: its client sends a request right
// afterwards.
func TestHandshakeUnderWay(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	p := start(t, &tls.Config{Certificates: certified.TLS.Certificates}, hello)
	tcp, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	slow := &stalls{Conn: tcp, reached: make(chan bool), goOn: make(chan bool)}
	c := tls.Client(slow, &tls.Config{InsecureSkipVerify: true})
	defer c.Close()
	asked := make(chan error)
	go func() {
		_, err := io.WriteString(c, get)
		asked <- err
	}()
	<-slow.reached
	drained := make(chan bool)
	go func() {
		defer close(drained)
		p.drain(t)
	}()
	select {
	case <-drained:
		t.Error("a handshake is under way")
	case <-time.After(time.Second): // an idle connection ends after half of that
	}
	close(slow.goOn)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if resp := answer(t, bufio.NewReader(c)); !resp.Close {
		t.Error("the answer does not say that the connection ends")
	}
	<-drained
}

// A handshake that hangs ends with the server's own timeout, even while the server drains.
func TestHandshakeThatHangs(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	p := start(t, &tls.Config{Certificates: certified.TLS.Certificates}, hello, func(s *http.Server) {
		s.ReadHeaderTimeout, s.ErrorLog = 2*time.Second, log.New(io.Discard, "", 0)
	})
	p.dial(t, "\x16\x03", 0)
	p.drain(t)
}

// An HTTP/2 client receives GOAWAY, and its requests are answered.
func TestHTTP2(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	began, finish := make(chan bool), make(chan bool)
	p := start(t, &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- true
			<-finish
		}
		fmt.Fprint(w, r.Proto)
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func(path string) {
		resp, err := client.Get("https://" + p.address + path)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "HTTP/2.0" {
			t.Errorf("%q %v", text, err)
		}
	}
	ask("/")
	slow := make(chan bool)
	go func() {
		defer close(slow)
		ask("/slow")
	}()
	<-began
	p.LameDuck()
	for range 3 { // each over a new connection, as the last one carried GOAWAY
		ask("/")
	}
	drained := make(chan bool)
	go func() {
		defer close(drained)
		p.drain(t)
	}()
	close(finish)
	<-slow
	<-drained
}

// A server that receives its connections from another one serves them while it drains, and
// meanwhile ends those without a request. It has drained when no more can arrive.
func TestDrainsWhileConnectionsAreHandedOver(t *testing.T) {
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	give, end := l.HandOver()
	p := program{lameduck.NewServer(&http.Server{Handler: http.HandlerFunc(hello)}, l), l, l.Addr().String()}
	go p.Serve(l)
	gone := make(chan bool, 2)
	hand := func(text string) *bufio.Reader {
		_, in := p.dial(t, "", 0)
		c, err := l.TCP().Accept()
		if err != nil {
			t.Fatal(err)
		}
		give(lameduck.Handed{TCPConn: c.(*net.TCPConn), Unread: []byte(text), Gone: func() { gone <- true }})
		return in
	}
	idle := hand(get)
	answer(t, idle)
	drained := make(chan bool)
	go func() {
		defer close(drained)
		p.drain(t)
	}()
	if _, err := idle.ReadByte(); err != io.EOF {
		t.Errorf("a connection without a request: %v, want EOF", err)
	}
	select {
	case <-drained:
		t.Error("more may come")
	default:
	}
	in := hand(get)
	end()
	if resp := answer(t, in); !resp.Close {
		t.Error("the answer does not say that the connection ends")
	}
	<-drained
	for range 2 {
		<-gone
	}
}

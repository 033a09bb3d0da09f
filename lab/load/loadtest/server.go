package loadtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// server listens on loopback and follows a script on every connection it accepts.
type server struct {
	url      string
	accepted atomic.Int64
	listener net.Listener
	over     chan struct{} // closed when the test ends; stalled scripts return then
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
}

// serve starts a server that runs script on each connection; the server stops when the test ends.
func serve(t *testing.T, script func(p *peer)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String(), listener: l, over: make(chan struct{}), conns: map[net.Conn]bool{}}
	s.wg.Go(func() { s.accept(script) })
	t.Cleanup(s.stop)
	return s
}

func (s *server) accept(script func(p *peer)) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.accepted.Add(1)
		s.wg.Go(func() {
			script(&peer{server: s, conn: c, in: bufio.NewReader(c)})
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

func (s *server) stop() {
	close(s.over)
	s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// peer is the server's end of one connection.
type peer struct {
	server *server
	conn   net.Conn
	in     *bufio.Reader
}

// request reads one whole request; ok is false if the client has closed the connection.
func (p *peer) request() (r *http.Request, body []byte, ok bool) {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil, nil, false
	}
	body, err = io.ReadAll(r.Body)
	return r, body, err == nil
}

// send writes a piece of an answer. It ignores errors: if the client is gone, the next request
// fails.
func (p *peer) send(s string) { io.WriteString(p.conn, s) }

// trickle sends one byte at a time; the kernel may still put several into one segment.
func (p *peer) trickle(s string) {
	for i := range s {
		p.send(s[i : i+1])
	}
}

// gone waits until the client has closed the connection, or the test is over.
func (p *peer) gone() { io.Copy(io.Discard, p.in) }

// reset closes the connection with an RST.
func (p *peer) reset() {
	p.conn.(*net.TCPConn).SetLinger(0)
	p.conn.Close()
}

// answer returns a script that answers every request with the same bytes.
func answer(s string) func(p *peer) {
	return func(p *peer) {
		for {
			if _, _, ok := p.request(); !ok {
				return
			}
			p.send(s)
		}
	}
}

// once returns a script that answers one request and closes the connection.
func once(s string) func(p *peer) {
	return func(p *peer) {
		if _, _, ok := p.request(); ok {
			p.send(s)
		}
	}
}

// hold returns a script that answers one request and leaves closing the connection to the client.
func hold(s string) func(p *peer) {
	return func(p *peer) {
		if _, _, ok := p.request(); ok {
			p.send(s)
			p.gone()
		}
	}
}

package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/pool"
	"dyno/lab/load/websocket"
)

// client is the pool.Doer of one Drive.
type client struct {
	driver  *Driver
	sockets []*socket
	workers []worker
}

// worker is one of the pool's workers: it has one request in flight at a time.
type worker struct {
	socket *socket
	class  uint8
	body   []byte      // its copy of the body, with the sequence number of its request
	ended  chan ending // holds the ending of the request in flight
}

// ending says how a request ended, unless it timed out.
type ending struct {
	status load.Status
	failed int
}

func (c *client) close() {
	for _, s := range c.sockets {
		s.end()
	}
}

// connectLimit bounds the time for connecting before the run's start.
const connectLimit = 10 * time.Second

// Connect makes the worker's connection before the run's start.
func (c *client) Connect(ctx context.Context, worker int) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	c.workers[worker].socket.connection(ctx)
}

// Do sends a request and waits for its answer.
func (c *client) Do(ctx context.Context, o *pool.Arrival) pool.Result {
	w := &c.workers[o.Worker]
	r := &c.driver.config.Corpus.Requests[o.Index]
	w.class = r.Class
	w.body = append(w.body[:0], r.Body...)
	for _, at := range r.IDs {
		corpus.PutID(w.body[at:], o.Seq)
	}
	conn, err := w.socket.connection(ctx)
	if err != nil {
		return pool.Result{Status: statusOf(err), Class: r.Class}
	}
	if !w.socket.expect(conn, o.Seq, w) {
		return pool.Result{Status: load.Closed, Class: r.Class}
	}
	conn.Queue(w.body)
	select {
	case e := <-w.ended:
		return pool.Result{Status: e.status, Class: r.Class, Success: e.status == load.OK && e.failed == 0, Checked: e.failed > 0, Failed: e.failed}
	case <-ctx.Done():
		if !w.socket.forget(o.Seq) {
			<-w.ended // the request ended after its timeout but before it was removed
		}
		return pool.Result{Status: load.Timeout, Class: r.Class}
	}
}

// socket is one WebSocket; when its connection is lost, the next request makes another.
type socket struct {
	driver  *Driver
	readers sync.WaitGroup

	dialing sync.Mutex // held while a connection is made
	mu      sync.Mutex
	conn    *websocket.Conn // guarded by mu; nil: none
	over    bool            // guarded by mu: the drive is over, so no further connection is made
	flights map[uint64]*worker
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

var errOver = errors.New("the drive is over")

// connection returns the socket's connection; it connects if there is none.
func (s *socket) connection(ctx context.Context) (*websocket.Conn, error) {
	if conn, over := s.current(); conn != nil || over {
		return conn, nil
	}
	s.dialing.Lock()
	defer s.dialing.Unlock()
	if conn, over := s.current(); conn != nil || over || ctx.Err() != nil {
		return conn, ctx.Err()
	}
	conn, err := websocket.Dial(ctx, s.driver.target, s.driver.config.Corpus.Requests[0].Header, s.driver.config.TLS, maxAnswer)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		conn.Close()
		return nil, errOver
	}
	s.conn = conn
	ctx, stop := context.WithCancel(context.Background())
	s.readers.Go(func() { conn.Write(ctx) })
	s.readers.Go(func() {
		defer stop()
		s.read(conn)
	})
	return conn, nil
}

func (s *socket) current() (conn *websocket.Conn, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn, s.over
}

// end closes the socket and waits for its goroutines.
func (s *socket) end() {
	s.mu.Lock()
	s.over = true
	if s.conn != nil {
		s.conn.Close()
	}
	s.mu.Unlock()
	s.readers.Wait()
}

// expect registers a request that is about to be sent. It returns false if the connection was
// lost.
func (s *socket) expect(conn *websocket.Conn, seq uint64, w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != conn || conn == nil {
		return false
	}
	s.flights[seq] = w
	return true
}

// forget removes a request that its worker no longer waits for. It returns false if the request
// has ended.
func (s *socket) forget(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, there := s.flights[seq]
	delete(s.flights, seq)
	return there
}

// take removes and returns the request that an answer belongs to; w is nil if there is none. An
// answer without an id, or with a null id (a server sends that when it could not read the
// request's id), belongs to the only request in flight.
func (s *socket) take(answer []byte) (seq uint64, w *worker) {
	id, err := corpus.JSONField(answer, "id")
	if first := bytes.TrimLeft(answer, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		id, err = corpus.JSONField(answer, "*", "id")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, ok := number(id)
	if !ok && len(id) > 0 && string(id) != "null" {
		return 0, nil
	}
	if err != nil || !ok {
		if method, _ := corpus.JSONField(answer, "method"); len(s.flights) != 1 || method != nil {
			return 0, nil // a notification
		}
		for seq = range s.flights {
		}
	}
	w = s.flights[seq]
	delete(s.flights, seq)
	return seq, w
}

// number returns the sequence number in an id, which is a JSON string that begins with IDLength
// hexadecimal digits.
func number(id []byte) (seq uint64, ok bool) {
	if len(id) < corpus.IDLength+2 || id[0] != '"' {
		return 0, false
	}
	return corpus.ParseID(id[1:])
}

// read receives the answers of one connection, and ends their requests, until the connection is
// lost.
func (s *socket) read(conn *websocket.Conn) {
	requests := s.driver.config.Corpus
	for {
		answer, err := conn.Receive()
		if err != nil {
			s.lost(conn, statusOf(err))
			return
		}
		seq, w := s.take(answer)
		if w == nil {
			continue
		}
		e := ending{status: load.OK, failed: requests.Classes[w.class].Check.Failures(nil, answer, requests.Units)}
		if accepted := requests.Accepted; accepted != nil && e.failed < requests.Units {
			accepted(seq, answer)
		}
		w.ended <- e
	}
}

// lost ends the requests that were in flight on a lost connection.
func (s *socket) lost(conn *websocket.Conn, why load.Status) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = nil
	for seq, w := range s.flights {
		delete(s.flights, seq)
		w.ended <- ending{status: why}
	}
}

// statusOf classifies a connection's error.
func statusOf(err error) load.Status {
	switch {
	case errors.Is(err, websocket.ErrProtocol), errors.Is(err, websocket.ErrTooLong):
		return load.Malformed
	case errors.Is(err, context.DeadlineExceeded):
		return load.Timeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return load.Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return load.Reset
	case errors.As(err, new(*websocket.CloseError)), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return load.Closed
	}
	return load.Connect
}

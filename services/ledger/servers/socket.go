package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/servers/response"
)

const (
	// A broken connection is detected by an unanswered ping, within pingEvery + pingWithin.
	pingEvery  = 5 * time.Second
	pingWithin = 5 * time.Second
	// The first dial after a broken connection is immediate; each that fails doubles the wait.
	minRedial = 100 * time.Millisecond
	maxRedial = 10 * time.Second
)

// socket sends concurrent requests over one WebSocket connection, and dials it if there is none.
type socket struct {
	server *Server
	url    string
	client *http.Client
	slots  chan struct{} // one per request in flight
	users  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	dialling chan struct{} // closed when the current dial ends; nil: none
	line     *line
	redial   time.Duration // wait after the next failure
	notUntil time.Time     // earliest time of the next dial
	why      error         // of the last failure
}

func newSocket(s *Server, url string) *socket {
	return &socket{server: s, url: url, client: dialler(s.config), slots: make(chan struct{}, s.config.InFlight)}
}

// dialler is an HTTP client for handshakes, which are HTTP/1.1.
func dialler(c Config) *http.Client {
	if c.Client != nil {
		return c.Client
	}
	c.TLS = c.TLS.Clone()
	if c.TLS == nil {
		c.TLS = new(tls.Config)
	}
	c.TLS.NextProtos = []string{"http/1.1"}
	return newClient(c)
}

func (k *socket) call(ctx context.Context, r request) (*body, error) {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	case <-ctx.Done():
		return nil, goneError(ctx.Err())
	}
	l, err := k.connected(ctx)
	if err != nil {
		return nil, err
	}
	return l.ask(ctx, r)
}

// connected returns the connection, and dials if necessary. Callers wait for a dial in progress. A
// caller whose ctx has ended must not dial: it would fail each time, and keep the others from it.
func (k *socket) connected(ctx context.Context) (*line, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, goneError(err)
		}
		k.mu.Lock()
		switch {
		case k.closed:
			k.mu.Unlock()
			return nil, goneError(errors.New("closed by this client"))
		case k.line != nil && !k.line.broken():
			l := k.line
			k.mu.Unlock()
			return l, nil
		case k.dialling != nil:
			over := k.dialling
			k.mu.Unlock()
			select {
			case <-over:
				continue
			case <-ctx.Done():
				return nil, goneError(ctx.Err())
			}
		}
		if k.line != nil { // broken
			k.failed(k.line.why)
			k.line = nil
		}
		if wait := time.Until(k.notUntil); wait > 0 {
			why := k.why
			k.mu.Unlock()
			return nil, &response.Error{Code: response.CodeOf(why), RetryAfter: wait, Err: fmt.Errorf("not dialled again for %v: %w", wait.Round(time.Millisecond), why)}
		}
		k.dialling = make(chan struct{})
		k.mu.Unlock()
		k.dial(ctx)
	}
}

func (k *socket) dial(ctx context.Context) {
	l, err := k.server.open(ctx, k.client, k.url)
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.dialling)
	k.dialling = nil
	switch {
	case err != nil && ctx.Err() != nil: // the caller cancelled: no failure
	case err != nil:
		k.failed(err)
	case k.closed:
		l.conn.CloseNow()
	default:
		k.line = l
		k.users.Go(l.read)
		k.users.Go(l.ping)
	}
}

// failed sets the wait before the next dial. A connection that brought an answer resets the wait.
func (k *socket) failed(why error) {
	if k.line != nil && k.line.answered() {
		k.redial = 0
	}
	k.why, k.notUntil = why, time.Now().Add(k.redial)
	if response.CodeOf(why) == response.SlowDown {
		k.notUntil = time.Now().Add(max(k.redial, time.Second)) // limits are per second
	}
	k.redial = min(max(2*k.redial, minRedial), maxRedial)
}

func (k *socket) close() error {
	k.mu.Lock()
	k.closed = true
	l := k.line
	k.mu.Unlock()
	if l != nil {
		l.end(goneError(errors.New("closed by this client")))
	}
	k.users.Wait()
	if k.server.config.Client == nil {
		k.client.CloseIdleConnections()
	}
	return nil
}

func (s *Server) open(ctx context.Context, client *http.Client, url string) (*line, error) {
	conn, answer, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		if answer != nil {
			b := body{status: answer.StatusCode, after: retryAfter(answer.Header.Get("Retry-After"))}
			t := response.Errorf(response.Malformed, "dialling")
			b.judge(t)
			t.Err = err
			return nil, t
		}
		return nil, goneError(err)
	}
	conn.SetReadLimit(s.config.MaxBody + 1)
	s.counts.made("WebSocket", answer.TLS)
	return &line{conn: conn, limit: s.config.MaxBody, waiting: map[uint64]chan *body{}, over: make(chan struct{})}, nil
}

type line struct {
	conn  *websocket.Conn
	limit int64 // bytes of a message

	mu      sync.Mutex
	last    uint64                // id of the last request
	got     uint64                // answers received
	waiting map[uint64]chan *body // by id; capacity 1 each
	why     error                 // why the connection ended; set before over is closed
	over    chan struct{}
}

func (l *line) broken() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (l *line) answered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got > 0
}

func (l *line) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.over)
		l.conn.CloseNow()
	}
}

func (l *line) ask(ctx context.Context, r request) (*body, error) {
	answer := make(chan *body, 1)
	l.mu.Lock()
	l.last++
	id := l.last
	l.waiting[id] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	question := strconv.AppendUint([]byte(`{"id":`), id, 10)
	question = append(question, `,"command":"`+r.method+`"`...)
	if fields := r.append(nil); len(fields) > 0 {
		question = append(append(question, ','), fields...)
	}
	// A cancelled write breaks the connection, which other requests share, so ctx does not apply.
	if err := l.conn.Write(context.WithoutCancel(ctx), websocket.MessageText, append(question, '}')); err != nil {
		l.end(goneError(err))
		return nil, l.why
	}
	select {
	case b := <-answer:
		return b, nil
	case <-ctx.Done():
		return nil, goneError(ctx.Err())
	case <-l.over:
		return nil, l.why
	}
}

// read delivers answers to the waiting callers, until the connection breaks.
func (l *line) read() {
	for {
		b, err := l.message(context.Background())
		if err != nil {
			l.end(err)
			return
		}
		l.mu.Lock()
		id, ok := response.RequestID(b.bytes)
		if !ok {
			id = l.oldest() // the server could not assign the error to a request
		}
		answer := l.waiting[id]
		delete(l.waiting, id)
		l.got++
		l.mu.Unlock()
		if answer == nil { // the caller has cancelled
			b.release()
			continue
		}
		answer <- b
	}
}

func (l *line) oldest() (id uint64) {
	for w := range l.waiting {
		if id == 0 || w < id {
			id = w
		}
	}
	return id
}

// message reads a whole message. Its error says how the connection ended.
func (l *line) message(ctx context.Context) (*body, error) {
	_, from, err := l.conn.Reader(ctx)
	if err != nil {
		return nil, ended(err)
	}
	b := bodies.Get().(*body)
	if err := b.read(from, -1, l.limit); err != nil {
		b.release()
		if websocket.CloseStatus(err) != -1 {
			return nil, ended(err)
		}
		return nil, cut(err)
	}
	return b, nil
}

func ended(err error) error {
	if websocket.CloseStatus(err) == websocket.StatusPolicyViolation {
		return &response.Error{Code: response.SlowDown, Err: fmt.Errorf("the server closed the connection because of load: %w", err)}
	}
	return goneError(err)
}

// ping ends the connection when the server stops answering pings.
func (l *line) ping() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.over:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingWithin)
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			l.end(goneError(fmt.Errorf("no answer to a ping within %v: %w", pingWithin, err)))
			return
		}
	}
}

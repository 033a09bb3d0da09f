package jsonrpc

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// grace is the time that a client that was too slow has to read the message that is being sent, so
// that it can receive the close frame.
const grace = 2 * time.Second

// Reasons for which a WebSocket ends. That its client has closed it, or is gone, is any other.
var (
	errSlow     = errors.New("the client reads too slowly")
	errSilent   = errors.New("a ping was not answered")
	errBinary   = errors.New("messages must be text")
	errStopping = errors.New("the server is stopping")
	errCutOff   = errors.New("the drain did not finish in time")
)

// closeCode returns the code that a client receives for a reason; false: none.
func closeCode(why error) (websocket.StatusCode, bool) {
	switch why {
	case errSlow:
		return websocket.StatusTryAgainLater, true
	case errSilent:
		return websocket.StatusPolicyViolation, true
	case errBinary:
		return websocket.StatusUnsupportedData, true
	case errStopping:
		return websocket.StatusGoingAway, true
	case websocket.ErrMessageTooBig:
		return websocket.StatusMessageTooBig, true
	}
	return 0, false
}

// socket is one WebSocket.
type socket struct {
	s    *Server
	conn *websocket.Conn
	ctx  context.Context // of its calls; its cause is the reason of the end
	stop context.CancelCauseFunc

	out     *queue
	writing context.Context // of writes and pings: a cancelled one breaks the connection
	written chan struct{}   // closed when no more is written

	slots   chan struct{} // one for each message that is being answered
	tasks   sync.WaitGroup
	turns   atomic.Int64 // of the reader
	waiting atomic.Bool  // the reader waits for a slot, and so sees no pong
	pinging atomic.Bool

	mu   sync.Mutex
	subs map[string]*Subscription // nil: the socket has ended
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	// The request's own context says nothing of a connection that was taken from the server.
	ctx, stop := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer stop(nil)
	c := &socket{
		s: s, ctx: ctx, stop: stop, out: newQueue(s.bounds.MaxQueue), written: make(chan struct{}),
		slots: make(chan struct{}, s.bounds.MaxConcurrent), subs: map[string]*Subscription{},
	}
	if !s.enter(c) {
		s.refuse(w, http.StatusServiceUnavailable, "there is no place for a WebSocket; come back later")
		return
	}
	defer s.leave(c)
	var err error
	// The guard has checked the origin.
	if c.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled}); err != nil {
		return // it has answered
	}
	c.conn.SetReadLimit(int64(s.bounds.MaxMessage))
	c.serve()
}

// serve runs the goroutines of the socket until it ends, and waits for them.
func (c *socket) serve() {
	writing, breakOff := context.WithCancel(context.Background())
	c.writing = writing
	c.tasks.Go(c.read)
	c.tasks.Go(c.write)
	why := c.watch()
	if why == errStopping {
		why = c.finish()
	}
	c.stop(why)
	if why == errSlow {
		c.s.slow.Add(1)
	}
	c.unsubscribeAll()
	c.out.end(true)
	c.close(why)
	breakOff()
	c.tasks.Wait()
}

// watch pings until the socket has a reason to end, and returns it.
func (c *socket) watch() error {
	ping := time.NewTicker(c.s.bounds.PingInterval)
	defer ping.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-c.s.draining:
			return errStopping
		case <-ping.C:
			c.ping()
		}
	}
}

// finish answers the messages that were read, and returns the reason of the end. It takes all
// slots, so that no further message is answered.
func (c *socket) finish() error {
	for range cap(c.slots) {
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
	c.unsubscribeAll()
	c.out.end(false)
	select {
	case <-c.written:
	case <-c.ctx.Done():
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return errStopping
}

// close closes the connection, with a close frame where that may arrive.
func (c *socket) close(why error) {
	code, ok := closeCode(why)
	if ok {
		select {
		case <-c.written:
		case <-time.After(grace):
			ok = false
		}
	}
	if !ok {
		c.conn.CloseNow()
		return
	}
	c.conn.Close(code, why.Error())
}

// ping sends a ping without waiting for its answer. While the reader waits for a slot it sees none,
// so a client whose messages are being answered counts as alive.
func (c *socket) ping() {
	if c.pinging.Swap(true) {
		return
	}
	c.tasks.Go(func() {
		defer c.pinging.Store(false)
		ctx, cancel := context.WithTimeout(c.writing, c.s.bounds.PingInterval)
		defer cancel()
		turns := c.turns.Load()
		if c.conn.Ping(ctx) != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !c.waiting.Load() && turns == c.turns.Load() {
			c.stop(errSilent)
		}
	})
}

// read reads messages until the connection ends, and has each answered by a goroutine.
func (c *socket) read() {
	for {
		x, err := c.receive()
		if err != nil {
			c.stop(err)
			return
		}
		c.waiting.Store(true)
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			c.s.release(x)
			return
		}
		c.waiting.Store(false)
		c.tasks.Go(func() { c.answer(x) })
	}
}

// receive reads one message. While there is none the socket holds no buffer.
func (c *socket) receive() (*exchange, error) {
	c.turns.Add(1)
	kind, r, err := c.conn.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, errBinary
	}
	x := c.s.exchange()
	if _, err = x.message.ReadFrom(r); err == nil {
		return x, nil
	}
	c.s.release(x)
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return nil, websocket.ErrMessageTooBig
	}
	return nil, err
}

// answer answers one message. Notifications of subscriptions that it opened follow the answer.
func (c *socket) answer(x *exchange) {
	defer func() { <-c.slots }()
	m := &message{Context: c.ctx, socket: c}
	c.s.serve(m, x)
	if len(x.answer) == 0 || !c.out.put(frame{x.answer, x}, true) {
		c.s.release(x)
	}
	for _, sub := range m.opened {
		sub.begin()
	}
}

// write sends what is queued until the queue ends or the client is too slow.
func (c *socket) write() {
	defer close(c.written)
	for {
		f, ok := c.out.next()
		if !ok {
			return
		}
		err := c.send(f.text)
		c.out.sent(len(f.text))
		if f.x != nil {
			c.s.release(f.x)
		}
		if err != nil {
			c.stop(err)
			c.out.end(true)
			return
		}
	}
}

// send ends the socket when a client takes too long to read a message. The deadline is none of the
// write's own: when that has passed, the reader also fails, and might be the first to say why.
func (c *socket) send(text []byte) error {
	slow := time.AfterFunc(c.s.bounds.WriteTimeout, func() { c.stop(errSlow) })
	defer slow.Stop()
	return c.conn.Write(c.writing, websocket.MessageText, text)
}

// notify queues a notification. A client for which there is no room reads too slowly.
func (c *socket) notify(text []byte) {
	if !c.out.put(frame{text: text}, false) {
		c.stop(errSlow) // without effect where the socket has ended
	}
}

// message is the context of a message's calls.
type message struct {
	context.Context
	socket *socket

	mu     sync.Mutex
	opened []*Subscription
}

type messageKey struct{}

func (m *message) Value(key any) any {
	if key == (messageKey{}) {
		return m
	}
	return m.Context.Value(key)
}

var errNoSocket = &Error{Code: UnknownMethod, Message: "notifications not supported"}

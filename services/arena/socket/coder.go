package socket

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Coder is Accept with github.com/coder/websocket.
func Coder(w http.ResponseWriter, r *http.Request, o Options) (Socket, error) {
	heard := func() {
		if o.Control != nil {
			_ = o.Control(nil) // the next message finds what is wrong
		}
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       o.Subprotocols,
		InsecureSkipVerify: true, // the caller has looked at Origin
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     func(context.Context, []byte) bool { heard(); return true },
		OnPongReceived:     func(context.Context, []byte) { heard() },
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(MaxMessage)
	c := &coder{conn: conn}
	c.timer = time.AfterFunc(math.MaxInt64, func() { c.end(GoingAway, "") })
	return c, nil
}

// coder closes its connection at the deadline: the library would do so without a word.
type coder struct {
	conn    *websocket.Conn
	timer   *time.Timer
	once    sync.Once // of the close
	pinging sync.WaitGroup

	mu     sync.Mutex
	asking bool // a ping has no answer yet
	ended  bool
}

func (c *coder) Subprotocol() string { return c.conn.Subprotocol() }

func (c *coder) SetReadDeadline(at time.Time) { c.timer.Reset(time.Until(at)) }

func (c *coder) end(code int, reason string) {
	c.once.Do(func() { _ = c.conn.Close(websocket.StatusCode(code), reason) })
}

func (c *coder) Read() ([]byte, error) {
	kind, message, err := c.conn.Read(context.Background())
	switch closed := (websocket.CloseError{}); {
	case errors.As(err, &closed):
		return nil, &Closed{Client: true}
	case err != nil:
		return nil, err // the library has closed it
	case kind != websocket.MessageBinary:
		return nil, breaks(Unsupported, "messages are binary")
	}
	return message, nil
}

// Write unpacks the frames: the library makes its own.
func (c *coder) Write(frames []byte, ends []int, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	begin := 0
	for _, end := range ends {
		if err := c.conn.Write(ctx, websocket.MessageBinary, payload(frames[begin:end])); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// payload returns what is behind the header of a frame that Append made.
func payload(frame []byte) []byte {
	switch frame[1] {
	case 126:
		return frame[4:]
	case 127:
		return frame[10:]
	}
	return frame[2:]
}

func (c *coder) TryWrite([]byte) (int, error) { return 0, ErrNoTry }

func (c *coder) Poll([]byte, func([]byte) error) error { return ErrNoTry }

// answerTime bounds the wait for the answer to a ping, which the library waits for.
const answerTime = 30 * time.Second

func (c *coder) Ping() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking || c.ended {
		return nil
	}
	c.asking = true
	c.pinging.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		_ = c.conn.Ping(ctx) // without an answer the deadline of Read passes
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asking = false
	})
	return nil
}

func (c *coder) Close(code int, reason string) {
	defer func() {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
		c.pinging.Wait()
	}()
	c.timer.Stop()
	if code == 0 {
		c.CloseNow()
	}
	c.end(code, reason) // or wait for that of the timer
}

func (c *coder) CloseNow() { _ = c.conn.CloseNow() }

package push

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"dyno/parts/refusal"
)

// maxMessage bounds what a client may send. Nothing is expected, so this is for control frames.
const maxMessage = 128 // bytes

// WebSocket serves GET /v1/ws?types=a,b.*&after=SEQ as text messages:
// {"seq":N,"type":..,"timestamp":.., "data":{..}} for a notice, {"gap":{"from","to"}} for numbers
// that are lost, {"reset":{"from"}} where after is not of this log. It closes with 1013 when the
// reader was too slow, 1001 when the service stops, 1008 when the client sends a message, 1011 when
// the log cannot be read, and 3000 when the client may not read on. It takes any Origin: which
// pages may connect is up to the parts/guard before it.
func (s *Streams) WebSocket(w http.ResponseWriter, r *http.Request) {
	at := s.admit(w, r)
	if at == nil {
		return
	}
	defer s.leave()
	conn, err := websocket.Accept(&refuser{ResponseWriter: w}, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	conn.SetReadLimit(maxMessage)
	// The request's own context says nothing of a connection that was taken from the server, except
	// why it may not go on.
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	m := &messages{streams: s, conn: conn, ctx: ctx, cancel: cancel}
	m.tasks.Go(m.read)
	s.finish(ctx, m, s.follow(ctx, at, m))
	m.tasks.Wait()
}

// refuser answers in JSON where the library would in text.
type refuser struct {
	http.ResponseWriter
	status int // of a refusal; 0: none so far
}

func (r *refuser) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *refuser) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		r.ResponseWriter.WriteHeader(status)
		return
	}
	r.status = status
}

func (r *refuser) Write(text []byte) (int, error) {
	answer(r.ResponseWriter, &refusal.Error{Status: r.status, Text: strings.TrimSpace(string(text))})
	return len(text), nil
}

// statusUnauthorized is in IANA's registry of close codes, which RFC 6455 (section 7.4.2) begins.
const statusUnauthorized websocket.StatusCode = 3000

var errMessage = errors.New("this stream takes no messages")

// messages is the transport of WebSocket.
type messages struct {
	streams *Streams
	conn    *websocket.Conn
	ctx     context.Context // of the stream
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup // read, and a ping that must be answered
	pinging atomic.Bool
}

// read takes the client's control frames until the connection is closed.
func (m *messages) read() {
	_, _, err := m.conn.Reader(context.Background())
	if err == nil {
		err = errMessage
		m.conn.Close(websocket.StatusPolicyViolation, err.Error())
	}
	m.cancel(err)
}

func (m *messages) notice(b []byte, n Notice) []byte {
	begin := len(b)
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, n.Seq, 10)
	b = append(b, ',')
	b = append(b, bytes.TrimPrefix(n.Envelope, []byte("{"))...)
	if frame := b[begin:]; !utf8.Valid(frame) {
		b = append(b[:begin], bytes.ToValidUTF8(frame, []byte("\uFFFD"))...)
	}
	return b
}

func (m *messages) gap(b []byte, g gap) []byte {
	b = g.appendTo(append(b, `{"gap":`...))
	return append(b, '}')
}

func (m *messages) reset(b []byte, from uint64) []byte {
	b = appendFrom(append(b, `{"reset":`...), from)
	return append(b, '}')
}

func (m *messages) send(c *chunk) error {
	return m.streams.timely(func(deadline time.Time) error {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		begin := 0
		for _, end := range c.ends {
			if err := m.conn.Write(ctx, websocket.MessageText, c.frames[begin:end]); err != nil {
				return err
			}
			begin = end
		}
		return nil
	})
}

// beat pings without waiting for the answer: notices may come before it. A client has until the
// next heartbeat, and as long again as for a chunk, which may be on its way before the ping.
func (m *messages) beat(uint64) error {
	if m.pinging.Swap(true) {
		return nil
	}
	m.tasks.Go(func() {
		defer m.pinging.Store(false)
		ctx, cancel := context.WithTimeout(m.ctx, m.streams.heartbeat+writeTime)
		defer cancel()
		if m.conn.Ping(ctx) != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			m.cancel(errSlow)
		}
	})
	return nil
}

func (m *messages) end(why error) {
	var refused *refusal.Error
	switch {
	case errors.As(why, &refused):
		m.conn.Close(statusUnauthorized, refused.Text)
	case errors.Is(why, errSlow):
		m.conn.Close(websocket.StatusTryAgainLater, errSlow.Error())
	case errors.Is(why, errClosed):
		m.conn.Close(websocket.StatusGoingAway, errClosed.Error())
	case errors.Is(why, errSource):
		m.conn.Close(websocket.StatusInternalError, errSource.Error())
	default:
		m.conn.CloseNow()
	}
}

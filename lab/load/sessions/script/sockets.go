package script

import (
	"context"
	"crypto/tls"
	"net/url"
	"strings"

	"dyno/lab/load/sessions"
	"dyno/lab/load/websocket"
)

// sockets is a driver whose sessions are WebSockets.
type sockets struct {
	script script
	rowCounter
}

func (d *sockets) Open(ctx context.Context, i int) (sessions.Session, error) {
	s := &d.script
	u, err := url.Parse(s.url(s.Load.URL, i, 0))
	if err != nil {
		return nil, err
	}
	var secure *tls.Config
	if u.Scheme == "wss" && s.tls != nil {
		if secure, err = s.tls(u.Hostname()); err != nil {
			return nil, err
		}
	}
	header := s.header(s.Load.Headers, i, 0)
	if len(s.Open.Subprotocols) > 0 {
		header.Set("Sec-WebSocket-Protocol", strings.Join(s.Open.Subprotocols, ", "))
	}
	conn, err := websocket.Dial(ctx, u, header, secure, maxMessage)
	if err != nil {
		return nil, err
	}
	conn.Direct()
	for _, m := range s.Open.Messages {
		conn.Queue([]byte(s.text(m, i, 0, nil)))
	}
	return &socket{counter: counter{script: s}, driver: d, conn: conn, i: i}, nil
}

// socket is a session over a WebSocket. If a write fails, the connection is closed, and Receive
// returns an error.
type socket struct {
	counter
	driver *sockets
	conn   *websocket.Conn
	i      int
	read0  int64 // bytes that Receive has reported so far
	stop   func() bool
	body   []byte // reused
}

func (c *socket) Send(_ context.Context, number uint64) error {
	send := c.script.Send
	if send == nil {
		return nil
	}
	var err error
	if c.body, err = c.driver.body(c.body[:0], c.script, c.i, number); err != nil {
		return err
	}
	if send.Base64 != "" {
		c.conn.QueueBinary(c.body)
	} else {
		c.conn.Queue(c.body)
	}
	return nil
}

func (c *socket) Receive(ctx context.Context) (sessions.Received, error) {
	if c.stop == nil {
		c.stop = context.AfterFunc(ctx, func() { c.conn.Close() })
	}
	message, err := c.conn.Receive()
	if err != nil {
		return sessions.Received{}, done(ctx, err)
	}
	r := c.read(message)
	all := c.conn.BytesIn()
	r.Bytes, c.read0 = int(all-c.read0), all
	return r, nil
}

func (c *socket) Close() error {
	if c.stop != nil {
		c.stop()
	}
	return c.conn.Close()
}

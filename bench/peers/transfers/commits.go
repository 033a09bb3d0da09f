package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"dyno/bench/peers/callers"

	"github.com/coder/websocket"
)

// errUsedUp ends the program.
var errUsedUp = errors.New("all transfers were sent: make more, or measure for a shorter time")

// commits sends calls or arrays and waits for their blocks.
func (o options) commits(ctx context.Context, out io.Writer, kind dialect, raws []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	address := socketOf(o.url, kind)
	var c chain
	c.grown.L = &c.mu
	heads, err := dial(ctx, address)
	if err != nil {
		return err
	}
	if _, err := heads.call(ctx, []byte(kind.subscribe)); err != nil {
		return err
	}
	var following sync.WaitGroup
	following.Go(func() {
		cancel(c.follow(ctx, heads, kind))
		c.end()
	})
	var next, accepted atomic.Int64
	err = callers.Run(ctx, out, o.connections, o.array, func(int) (func() error, error) {
		send, err := o.sender(ctx, address)
		return func() error {
			last := int(next.Add(int64(o.array)))
			if last > len(raws) {
				return errUsedUp
			}
			answer, err := send(ctx, kind.body(raws[last-o.array:last]))
			if err != nil {
				return err
			}
			if n := bytes.Count(answer, []byte(kind.accepted)); n != o.array {
				return fmt.Errorf("%d of %d transfers were accepted: %.300s", n, o.array, answer)
			}
			return c.wait(accepted.Add(int64(o.array)))
		}, err
	})
	stopped := context.Cause(ctx)
	cancel(nil)
	following.Wait()
	if errors.Is(stopped, context.Canceled) {
		stopped = nil
	}
	return errors.Join(err, stopped)
}

// sender returns what sends over a connection of its own.
func (o options) sender(ctx context.Context, address string) (func(context.Context, []byte) ([]byte, error), error) {
	if address == o.url {
		s, err := dial(ctx, address)
		return s.call, err
	}
	u, err := url.Parse(o.url)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	answers := bufio.NewReader(conn)
	var request []byte
	// net/http's client costs several times as much, of the cores that the node needs.
	return func(_ context.Context, body []byte) ([]byte, error) {
		request = fmt.Appendf(request[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			u.RequestURI(), u.Host, len(body))
		if _, err := conn.Write(append(request, body...)); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}, nil
}

// maxAnswer bounds a message of the node, in bytes.
const maxAnswer = 16 << 20

// socket is a WebSocket with one call in flight.
type socket struct{ conn *websocket.Conn }

func dial(ctx context.Context, address string) (socket, error) {
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err == nil {
		conn.SetReadLimit(maxAnswer)
		context.AfterFunc(ctx, func() { conn.CloseNow() })
	}
	return socket{conn}, err
}

func (s socket) call(ctx context.Context, body []byte) ([]byte, error) {
	if err := s.conn.Write(ctx, websocket.MessageText, body); err != nil {
		return nil, err
	}
	_, answer, err := s.conn.Read(ctx)
	return answer, err
}

// chain counts what is in blocks.
type chain struct {
	mu        sync.Mutex
	grown     sync.Cond
	transfers int64
	ended     bool
}

// follow counts the transfers of the blocks that are announced.
func (c *chain) follow(ctx context.Context, heads socket, kind dialect) error {
	for {
		_, text, err := heads.conn.Read(ctx)
		if err != nil {
			return err
		}
		n, err := kind.count(text)
		if err != nil {
			return fmt.Errorf("the announcement of a block: %w", err)
		}
		c.mu.Lock()
		c.transfers += n
		c.mu.Unlock()
		c.grown.Broadcast()
	}
}

func (c *chain) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.grown.Broadcast()
}

// wait returns when n transfers are in blocks.
func (c *chain) wait(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.transfers < n && !c.ended {
		c.grown.Wait()
	}
	if c.transfers < n {
		return errors.New("the node announces no more blocks")
	}
	return nil
}

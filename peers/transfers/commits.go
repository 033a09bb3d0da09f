package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"dyno/peers/callers"

	"github.com/coder/websocket"
	"github.com/ethereum/go-ethereum/params"
)

// errUsedUp ends the program.
var errUsedUp = errors.New("all transfers were sent: make more, or measure for a shorter time")

// commits sends arrays and waits for their blocks.
func (o options) commits(ctx context.Context, out io.Writer, raws []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	address := "ws" + strings.TrimPrefix(o.url, "http")
	if strings.HasPrefix(o.url, "ws") {
		address = o.url
	}
	var c chain
	c.grown.L = &c.mu
	heads, err := dial(ctx, address)
	if err != nil {
		return err
	}
	if _, err := heads.call(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)); err != nil {
		return err
	}
	var following sync.WaitGroup
	following.Go(func() {
		cancel(c.follow(ctx, heads))
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
			answer, err := send(ctx, array(raws[last-o.array:last]))
			if err != nil {
				return err
			}
			if n := bytes.Count(answer, []byte(`"result":"0x`)); n != o.array {
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

// array returns calls of eth_sendRawTransaction.
func array(raws []string) []byte {
	body := make([]byte, 0, len(raws)*(len(raws[0])+100))
	for i, raw := range raws {
		body = append(body, "[,"[min(i, 1)])
		body = strconv.AppendInt(append(body, `{"jsonrpc":"2.0","id":`...), int64(i), 10)
		body = append(append(append(body, `,"method":"eth_sendRawTransaction","params":["0x`...), raw...), `"]}`...)
	}
	return append(body, ']')
}

// sender returns what sends over a connection of its own.
func (o options) sender(ctx context.Context, address string) (func(context.Context, []byte) ([]byte, error), error) {
	if address == o.url {
		s, err := dial(ctx, address)
		return s.call, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	return func(ctx context.Context, body []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
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
func (c *chain) follow(ctx context.Context, heads socket) error {
	for {
		_, text, err := heads.conn.Read(ctx)
		if err != nil {
			return err
		}
		var head struct {
			Params struct{ Result struct{ GasUsed string } }
		}
		if err := json.Unmarshal(text, &head); err != nil {
			return err
		}
		gas, err := strconv.ParseInt(head.Params.Result.GasUsed, 0, 64)
		if err != nil {
			return fmt.Errorf("the announcement of a block: %w", err)
		}
		c.mu.Lock()
		c.transfers += gas / int64(params.TxGas)
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

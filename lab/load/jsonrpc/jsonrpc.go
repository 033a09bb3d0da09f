// Package jsonrpc drives a target with JSON-RPC 2.0 over WebSockets: it opens a given number of
// sockets, keeps many calls in flight on each, and matches answers by id, in whatever order they
// come. A call, or an array of calls (a batch), is one request of the corpus; its id contains the
// sequence number.
//
// It is not for JSON-RPC over HTTP, which is an ordinary request (http1, nethttp), nor for
// subscriptions: messages without an id are skipped. Drive owns the pool's goroutines and two for
// each socket; all have ended when it returns.
package jsonrpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/pool"
	"dyno/lab/workload"
)

// Config says what to send and where. Plan.Connections is the number of sockets.
type Config struct {
	Target string // ws://127.0.0.1:8545/ or wss://
	// Corpus holds the calls, whose ids contain the sequence number. Each socket's handshake
	// carries the header of the corpus's first request. In a class without a check, a call fails
	// if its answer has an error.
	Corpus *corpus.Corpus
	// InFlight is the number of requests that may be in flight on one socket. 0: one.
	InFlight int
	TLS      *tls.Config // required for wss; it must have the server's name
}

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	config Config
	target *url.URL
}

var _ load.Driver = (*Driver)(nil)

// maxInFlight bounds Config.InFlight, and maxPlaces the requests in flight on all sockets
// together: each has a goroutine.
const (
	maxInFlight = 10_000
	maxPlaces   = 200_000
)

// New checks the configuration. It does not connect yet.
func New(c Config) (*Driver, error) {
	u, err := url.Parse(c.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "" {
		return nil, fmt.Errorf("target %q: write ws://HOST:PORT/ or wss://HOST:PORT/", c.Target)
	}
	if c.InFlight < 0 || c.InFlight > maxInFlight {
		return nil, fmt.Errorf("%d requests in flight on a socket; there may be %d", c.InFlight, maxInFlight)
	}
	c.InFlight = max(c.InFlight, 1)
	if c.Corpus == nil || len(c.Corpus.Requests) == 0 {
		return nil, errors.New("the corpus is empty")
	}
	for i := range c.Corpus.Requests {
		if len(c.Corpus.Requests[i].IDs) == 0 {
			return nil, fmt.Errorf("call %d has no ${id}, by which its answer is matched; write \"id\":\"${id}\"", i+1)
		}
	}
	completed := make([]bool, len(c.Corpus.Classes))
	for i := range c.Corpus.Requests {
		if r := &c.Corpus.Requests[i]; int(r.Class) < len(completed) && !completed[r.Class] {
			requireNoError(&c.Corpus.Classes[r.Class].Check, r.Body)
			completed[r.Class] = true
		}
	}
	if err := c.Corpus.Prepare(); err != nil {
		return nil, err
	}
	return &Driver{config: c, target: u}, nil
}

// requireNoError adds, to a class without a check, the one that fails calls whose answer has an
// error; body is that of one of the class's requests.
func requireNoError(c *corpus.Check, body []byte) {
	if len(c.JSON) > 0 {
		return
	}
	path := "error"
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		path = "*.error"
	}
	c.JSON = []workload.JSONTest{{Path: path}}
}

// Engine returns the driver's name.
func (d *Driver) Engine() string { return "websocket" }

// Drive carries out the plan; see load.Driver.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	each := *p // each call in flight is a worker of the pool
	sockets := max(p.Connections, 1)
	each.Connections = sockets * d.config.InFlight
	if each.Connections > maxPlaces {
		return fmt.Errorf("%d sockets with %d requests in flight on each are more than %d: lower connections or pipeline", sockets, d.config.InFlight, maxPlaces)
	}
	c := &client{driver: d, workers: make([]worker, each.Connections)}
	for range sockets {
		c.sockets = append(c.sockets, &socket{driver: d, flights: map[uint64]*worker{}})
	}
	for i := range c.workers {
		c.workers[i] = worker{socket: c.sockets[i%sockets], ended: make(chan ending, 1)}
	}
	defer c.close()
	workers := &pool.Driver{Name: d.Engine(), Doer: c, Next: d.config.Corpus.Take}
	return workers.Drive(ctx, &each, rec)
}

// Try makes one connection. Its error says why that failed.
func (d *Driver) Try(ctx context.Context) error {
	s := &socket{driver: d, flights: map[uint64]*worker{}}
	defer s.end()
	_, err := s.connection(ctx)
	return err
}

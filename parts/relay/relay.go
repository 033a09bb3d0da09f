// Package relay accepts connections for another server, dials it for each, and hands both ends to a
// function that carries the bytes as it likes: what every proxy over TCP begins with.
//
// It is not for load, nor for protocols: net/http/httputil has a proxy for HTTP. Serve starts a
// goroutine for each connection, and returns when all have ended.
package relay

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Options of Serve.
type Options struct {
	To    string       // HOST:PORT of the server
	Limit int          // connections that are open; others wait to be accepted. 0 means 10,000
	Log   *slog.Logger // nil means none
}

// A Carrier carries the bytes of the n-th connection, from 0 on, between its ends until it is over
// or the context ends. Its caller closes both.
type Carrier func(ctx context.Context, n uint64, client, server net.Conn)

const (
	patience = 10 * time.Second       // for a server that does not answer
	pause    = 100 * time.Millisecond // after an accept that failed, as for want of file descriptors
)

// Serve carries the connections of a listener, which it closes, until the context ends.
func Serve(ctx context.Context, l net.Listener, o Options, carry Carrier) {
	if o.Limit == 0 {
		o.Limit = 10_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	free := make(chan struct{}, o.Limit)
	full := sync.OnceFunc(func() { o.Log.Warn("the limit of connections is reached: others wait", "limit", o.Limit) })
	for n := uint64(0); ; n++ {
		select {
		case free <- struct{}{}:
		default:
			full()
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
		client := accept(ctx, l, o.Log)
		if client == nil {
			return
		}
		tasks.Go(func() {
			defer func() { <-free }()
			connect(ctx, o, n, client, carry)
		})
	}
}

// accept returns the next connection; nil: the listener is closed.
func accept(ctx context.Context, l net.Listener, log *slog.Logger) net.Conn {
	for {
		client, err := l.Accept()
		if err == nil {
			return client
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		log.Warn("a connection was not accepted", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func connect(ctx context.Context, o Options, n uint64, client net.Conn, carry Carrier) {
	defer client.Close()
	dialer := net.Dialer{Timeout: patience}
	server, err := dialer.DialContext(ctx, "tcp", o.To)
	if err != nil {
		if ctx.Err() == nil {
			o.Log.Warn("the server cannot be reached, so a connection ends", "error", err)
		}
		return
	}
	defer server.Close()
	carry(ctx, n, client, server)
}

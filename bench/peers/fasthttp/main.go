// Fasthttp is what ordersd is compared with: order queries over fasthttp and pgx, as users of the
// two write them. A handler verifies the token, asks a pool for one row, scans it into a struct and
// answers with encoding/json. It answers GET /api/v1/order?uid=N as ordersd does, also for an order
// of another account, and nothing more than that.
//
// It is not slowed down: when ordersd gets a cheap trick that its users would take from any
// tutorial, so does this. It is not for production. It owns the pool's goroutines and fasthttp's,
// which have ended when it ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

func main() {
	var c config
	flag.StringVar(&c.listen, "listen", "127.0.0.1:8080", "`address`")
	flag.StringVar(&c.dsn, "dsn", "postgres://localhost/orders", "`URL` of the database, which has the table orders")
	flag.StringVar(&c.keys, "jwt-keys", "jwks.json", "`file` with the keys (JWKS) that tokens are signed with")
	flag.IntVar(&c.connections, "connections", 16, "connections to the database, at most")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "fasthttp: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// config is what the program is started with.
type config struct {
	listen, dsn, keys string
	connections       int
}

const (
	// patience is what a statement may take, a client with its request, and the end with requests
	// under way.
	patience  = 2 * time.Second
	maxHeader = 16 << 10 // bytes of a request's headers; a token is about 400
)

// run serves until ctx ends.
func (c config) run(ctx context.Context) error {
	keys, err := readKeys(c.keys)
	if err != nil {
		return fmt.Errorf("--jwt-keys: %w", err)
	}
	pool, err := c.open(ctx)
	if err != nil {
		return fmt.Errorf("--dsn: %w", err)
	}
	defer pool.Close()
	listener, err := net.Listen("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	s := server{pool: pool, keys: keys}
	web := &fasthttp.Server{Handler: s.handle, ReadBufferSize: maxHeader, MaxRequestBodySize: maxHeader,
		ReadTimeout: 5 * patience, WriteTimeout: 5 * patience, IdleTimeout: time.Minute, CloseOnShutdown: true}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	err = json.NewEncoder(os.Stdout).Encode(map[string]any{"ready": true, "service": "fasthttp+pgx", "listen": listener.Addr().String(), "pid": os.Getpid()})
	if err == nil {
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	listener.Close() // fasthttp does not when it has not come to serving it yet
	err = errors.Join(err, ignoreClosed(web.ShutdownWithContext(grace)))
	return errors.Join(err, ignoreClosed(<-served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// open connects the pool. pgx automatically prepares each statement once per connection.
func (c config) open(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(c.dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(c.connections)
	config.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(patience.Milliseconds())
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"dyno/subjects/bounds/suite"
)

var stock = suite.Entry{
	Name: "grpc-lock", Family: "libraries", Truth: "lock", Also: []string{"wait"}, Kind: "mutex", OrKind: "timer", Function: "main.(*warehouse).Check",
	InWords: "each request is a gRPC call to the same process, whose method keeps a mutex while it waits for some ms",
	Method:  "GET", Path: "/stock", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		takes := d.Micros("check_us", 1_000, 4_000)
		return func() (*suite.Service, error) { return newWarehouse(takes) }
	},
}

// warehouse counts one shelf at a time.
type warehouse struct {
	health.UnimplementedHealthServer
	takes time.Duration
	mu    sync.Mutex
}

func (s *warehouse) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(s.takes)
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func newWarehouse(takes time.Duration) (*suite.Service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := grpc.NewServer()
	health.RegisterHealthServer(srv, &warehouse{takes: takes})
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(listener) })
	end := func() { srv.Stop(); serving.Wait() }
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		end()
		return nil, err
	}
	client := health.NewHealthClient(conn)
	return suite.ServingUntil("GET /stock", func(w http.ResponseWriter, r *http.Request) {
		_, err := client.Check(r.Context(), &health.HealthCheckRequest{})
		answer(w, err)
	}, func() { conn.Close(); end() }), nil
}

var letters = suite.Entry{
	Name: "nats-reply", Family: "libraries", Truth: "wait", Also: []string{"lock"}, Kind: "timer", OrKind: "channel", Function: "main.(*clerk).reply",
	InWords: "each request asks over NATS, and the one subscriber waits for some ms before each reply",
	Method:  "GET", Path: "/ask", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		takes := d.Micros("reply_us", 1_000, 4_000)
		return func() (*suite.Service, error) { return newClerk(takes) }
	},
}

// clerk replies to one message after the other.
type clerk struct {
	takes time.Duration
	conn  *nats.Conn
}

func (c *clerk) reply(m *nats.Msg) {
	time.Sleep(c.takes)
	m.Respond([]byte("yes"))
}

func (c *clerk) ask(w http.ResponseWriter, r *http.Request) {
	reply, err := c.conn.RequestWithContext(r.Context(), "ask", nil)
	if err != nil {
		answer(w, err)
		return
	}
	w.Write(reply.Data)
}

func newClerk(takes time.Duration) (*suite.Service, error) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		return nil, err
	}
	srv.Start()
	end := func() { srv.Shutdown(); srv.WaitForShutdown() }
	c := &clerk{takes: takes}
	if c.conn, err = nats.Connect(srv.ClientURL()); err == nil {
		_, err = c.conn.Subscribe("ask", c.reply)
	}
	if err != nil {
		end()
		return nil, err
	}
	return suite.ServingUntil("GET /ask", c.ask, func() { c.conn.Close(); end() }), nil
}

var seals = suite.Entry{
	Name: "fasthttp", Family: "libraries", Truth: "cpu", Function: "main.(*sealer).seal",
	InWords: "each request, served by fasthttp, is hashed some thousand times",
	Method:  "GET", Path: "/seal", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		s := &sealer{rounds: d.Between("rounds", 500, 2_000)}
		return func() (*suite.Service, error) {
			f := &fasthttp.Server{Handler: s.answer, CloseOnShutdown: true}
			return &suite.Service{Serve: f.Serve, Close: func() { f.Shutdown() }}, nil
		}
	},
}

// sealer seals what it is asked for.
type sealer struct{ rounds int }

func (s *sealer) answer(ctx *fasthttp.RequestCtx) { fmt.Fprintf(ctx, "%x\n", s.seal(ctx.Path())) }

func (s *sealer) seal(text []byte) []byte {
	for range s.rounds {
		sum := sha256.Sum256(text)
		text = sum[:]
	}
	return text
}

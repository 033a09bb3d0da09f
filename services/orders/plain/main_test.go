package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/services/orders/ordertest"
	"dyno/services/orders/postgres/pgtest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the suite makes requests fail
	pgtest.Main(m)
}

func start(t testing.TB, e ordertest.Env) ordertest.Program {
	c := defaults
	c.dsn, c.keys, c.audience, c.issuer = e.DSN, e.Keys, e.Audience, e.Issuer
	c.leeway, c.reload, c.timeout, c.client, c.drain = e.Leeway, e.Reload, e.Timeout, e.Client, e.Drain
	var err error
	if c.foreign, err = strconv.Atoi(e.Foreign); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{Origins: []string{e.AllowOrigin}})
	if err != nil {
		t.Fatal(err)
	}
	ends := lameduck.Listen(public.(*net.TCPListener))
	web, served := lameduck.NewServer(s.web(g), ends), make(chan error, 1)
	go func() { served <- web.Serve(ends) }()
	pages := httptest.NewServer(g.Private().Wrap(http.HandlerFunc(s.ready), nil))
	return ordertest.Program{
		URL: "http://" + public.Addr().String(), Debug: pages.URL,
		Stop: func() {
			s.stopping.Store(true)
			if err := web.Stop(e.LameDuck, c.drain); err != nil {
				t.Error(err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
			pages.Close()
			s.close()
		},
	}
}

// The plain program passes the suite that every assembly of ordersd passes.
func TestSuite(t *testing.T) {
	ordertest.Core(t, start)
	ordertest.SlowClients(t, start)
	ordertest.Stops(t, start)
}

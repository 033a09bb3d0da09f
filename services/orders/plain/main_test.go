package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/services/orders/database"
	"dyno/services/orders/ordertest"
	"dyno/services/orders/ordertest/core"
	"dyno/services/orders/ordertest/full"
	"dyno/services/orders/pgtest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the suite makes requests fail
	pgtest.Main(m)
}

func start(t testing.TB, e ordertest.Env) ordertest.Program {
	if err := database.Migrate(t.Context(), e.DSN, 0, 1); err != nil {
		t.Fatal(err)
	}
	c := defaults
	c.dsn, c.keys, c.audience, c.issuer = e.DSN, e.Keys, e.Audience, e.Issuer
	c.leeway, c.reload, c.timeout, c.client = e.Leeway, e.Reload, e.Timeout, e.Client
	var err error
	if c.foreign, err = strconv.Atoi(e.Foreign); err != nil {
		t.Fatal(err)
	}
	s, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{Origins: []string{e.AllowOrigin}})
	if err != nil {
		t.Fatal(err)
	}
	bounded := s.web()
	bounded.Handler = g.Wrap(bounded.Handler, nil)
	web, served := lameduck.NewServer(bounded, ends), make(chan error, 1)
	go func() { served <- web.Serve(ends) }()
	var stopping atomic.Bool
	pages := httptest.NewServer(g.Private().Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stopping.Load() || s.ready(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), nil))
	return ordertest.Program{
		URL: "http://" + ends.Addr().String(), Debug: pages.URL,
		Stop: func() {
			stopping.Store(true)
			if err := web.Stop(e.LameDuck, e.Drain); err != nil {
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

func TestCore(t *testing.T) {
	core.Test(t, start)
	full.SlowSenders(t, start)
	full.Stops(t, start)
}

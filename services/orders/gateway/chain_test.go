package gateway

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/encode"
	"dyno/services/orders/store"
	"dyno/services/orders/web"
)

// bare returns a gateway that has what middlewares need.
func bare(t *testing.T, c Config) *Gateway {
	t.Helper()
	g := &Gateway{config: c, log: slog.New(slog.NewTextHandler(io.Discard, nil)), msgpack: encode.Msgpack(), latency: newLatencies(), counters: new(counters)}
	var err error
	if g.json, err = encode.JSON("std"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func serve(h web.Handler, req *web.Request) *web.Response {
	resp := new(web.Response)
	h.Serve(context.Background(), req, resp)
	return resp
}

func ok(_ context.Context, req *web.Request, resp *web.Response) {
	resp.Status = http.StatusOK
	resp.Body = append(resp.Body, req.Query...)
}

// A panic costs its request, reveals nothing to the caller, and leaves the goroutine that answers
// at work.
func TestPanics(t *testing.T) {
	work := make(chan func())
	var worker sync.WaitGroup
	worker.Go(func() {
		for answer := range work {
			answer()
		}
	})
	elsewhere := func(next web.Handler) web.Handler {
		return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			done := make(chan struct{})
			work <- func() {
				next.Serve(ctx, req, resp)
				close(done)
			}
			<-done
		})
	}
	for name, around := range map[string]func(web.Handler) web.Handler{"none": nil, "elsewhere": elsewhere} {
		g := bare(t, Config{Around: around})
		h := g.answering(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			if req.Query == "bad" {
				resp.Body = append(resp.Body, "half an ans"...)
				resp.ETag = "left over"
				panic("of the secret " + req.Query)
			}
			ok(ctx, req, resp)
		}), g.recover)
		for range 3 {
			resp := serve(h, &web.Request{Query: "bad"})
			if resp.Status != 500 || resp.ETag != "" || strings.Contains(string(resp.Body), "secret") || !strings.HasPrefix(string(resp.Body), `{"error":`) {
				t.Errorf("%s: %d %s", name, resp.Status, resp.Body)
			}
			if resp := serve(h, &web.Request{Query: "good"}); resp.Status != 200 || string(resp.Body) != "good" {
				t.Errorf("%s: %d %s", name, resp.Status, resp.Body)
			}
		}
	}
	close(work)
	worker.Wait()
}

func TestMaxInFlight(t *testing.T) {
	g := bare(t, Config{MaxInFlight: 1})
	var inner *web.Response
	var h web.Handler
	h = chain(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		if req.Query == "outer" {
			inner = serve(h, &web.Request{Query: "inner"})
		}
		ok(ctx, req, resp)
	}), g.measure("/x"))
	outer := serve(h, &web.Request{Query: "outer"})
	if outer.Status != 200 || inner.Status != 503 || inner.RetryAfter <= 0 {
		t.Errorf("%d, and inside %d", outer.Status, inner.Status)
	}
	if g.counters.inFlight() != 0 || g.counters.answered(2) != 1 || g.counters.answered(5) != 1 {
		t.Errorf("%d in flight, %d good, %d refused", g.counters.inFlight(), g.counters.answered(2), g.counters.answered(5))
	}
}

// A deadline comes at most a tick later than asked for, never earlier, and is shared.
func TestDeadlines(t *testing.T) {
	g := bare(t, Config{Options: store.Options{Timeout: time.Minute}})
	var seen time.Time
	look := web.HandlerFunc(func(ctx context.Context, _ *web.Request, _ *web.Response) { seen, _ = ctx.Deadline() })
	for name, deadline := range map[string]middleware{"each": g.deadlineEach, "shared": g.deadlineShared()} {
		h := deadline(look)
		for range 100 {
			began := time.Now()
			serve(h, &web.Request{})
			if seen.Before(began.Add(time.Minute)) || seen.After(time.Now().Add(time.Minute+deadlineTick)) {
				t.Fatalf("%s: %v after the beginning", name, seen.Sub(began))
			}
		}
	}
}

package orders

import (
	"context"
	"fmt"
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
	g := &Gateway{config: c, log: slog.New(slog.NewTextHandler(io.Discard, nil)), msgpack: encode.Msgpack(), latency: newLatencies(), counters: new(packed)}
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

// A panic costs its request, tells the caller nothing, and leaves the worker that met it at work.
func TestPanics(t *testing.T) {
	for _, dispatch := range []string{"direct", "channel", "ring"} {
		g := bare(t, Config{Dispatch: dispatch, Workers: 1, QueueCapacity: 8})
		middle, err := g.openDispatch()
		if err != nil {
			t.Fatal(err)
		}
		h := chain(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			if req.Query == "bad" {
				resp.Body = append(resp.Body, "half an ans"...)
				resp.ETag = "left over"
				panic("of the secret " + req.Query)
			}
			ok(ctx, req, resp)
		}), g.recover, middle)
		for range 3 {
			resp := serve(h, &web.Request{Query: "bad"})
			if resp.Status != 500 || resp.ETag != "" || strings.Contains(string(resp.Body), "secret") || !strings.HasPrefix(string(resp.Body), `{"error":`) {
				t.Errorf("%s: %d %s", dispatch, resp.Status, resp.Body)
			}
			if resp := serve(h, &web.Request{Query: "good"}); resp.Status != 200 || string(resp.Body) != "good" {
				t.Errorf("%s: %d %s", dispatch, resp.Status, resp.Body)
			}
		}
	}
}

// Each request gets its own answer, whoever works on it.
func TestDispatch(t *testing.T) {
	for _, dispatch := range []string{"direct", "channel", "ring"} {
		g := bare(t, Config{Dispatch: dispatch, Workers: 3, QueueCapacity: 1000})
		middle, err := g.openDispatch()
		if err != nil {
			t.Fatal(err)
		}
		h := chain(web.HandlerFunc(ok), middle)
		var callers sync.WaitGroup
		for c := range 8 {
			callers.Go(func() {
				for i := range 200 {
					want := fmt.Sprintf("%d-%d", c, i)
					if resp := serve(h, &web.Request{Query: want}); string(resp.Body) != want {
						t.Errorf("%s: %s, want %s", dispatch, resp.Body, want)
					}
				}
			})
		}
		callers.Wait()
	}
}

// What does not fit into the queue is refused at once.
func TestDispatchIsBounded(t *testing.T) {
	g := bare(t, Config{Dispatch: "ring", Workers: 1, QueueCapacity: 1})
	middle, err := g.openDispatch()
	if err != nil {
		t.Fatal(err)
	}
	const many = 10
	held, release := make(chan struct{}, many), make(chan struct{})
	h := chain(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		held <- struct{}{}
		<-release
		ok(ctx, req, resp)
	}), middle)
	statuses := make(chan int, many)
	for range many {
		go func() { statuses <- serve(h, &web.Request{}).Status }()
	}
	<-held
	for range many - 2 { // one is held, one waits
		if got := <-statuses; got != http.StatusServiceUnavailable {
			t.Errorf("%d", got)
		}
	}
	close(release)
	for range 2 {
		if got := <-statuses; got != 200 {
			t.Errorf("%d", got)
		}
	}
}

func TestMaxInFlight(t *testing.T) {
	for name, make := range counterKinds {
		g := bare(t, Config{MaxInFlight: 1})
		g.counters = make()
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
			t.Errorf("%s: %d, and inside %d", name, outer.Status, inner.Status)
		}
		if g.counters.inFlight() != 0 || g.counters.answered(2) != 1 || g.counters.answered(5) != 1 {
			t.Errorf("%s: %d in flight, %d good, %d refused", name, g.counters.inFlight(), g.counters.answered(2), g.counters.answered(5))
		}
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

func TestAdmission(t *testing.T) {
	for _, admission := range []string{"none", "fixed", "aimd"} {
		g := bare(t, Config{Admission: admission, AdmitReads: 1, MaxWaiting: 1, MaxWait: time.Millisecond, TargetLatency: time.Second})
		admit, err := g.openAdmission(classRead)
		if err != nil {
			t.Fatal(err)
		}
		var inner *web.Response
		var h web.Handler
		h = chain(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			if req.Query == "outer" {
				inner = serve(h, &web.Request{Query: "inner"})
			}
			ok(ctx, req, resp)
		}), admit)
		want := http.StatusServiceUnavailable
		if admission == "none" {
			want = http.StatusOK
		}
		for range 3 { // what was refused or answered has given its place back
			if outer := serve(h, &web.Request{Query: "outer"}); outer.Status != 200 || inner.Status != want {
				t.Errorf("%s: %d, and inside %d, want %d", admission, outer.Status, inner.Status, want)
			}
		}
	}
	for query, want := range map[string]int{"": 1, "limit=1": 1, "limit=51": 2, "limit=500": 10, "limit=x": 1} {
		if got := listWeight(&web.Request{Query: query, Account: "A1"}); got != want {
			t.Errorf("%s weighs %d, want %d", query, got, want)
		}
	}
}

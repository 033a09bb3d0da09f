package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/daemon"
	"dyno/services/orders/encode"
	"dyno/services/orders/order"
	"dyno/services/orders/web"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(h web.Handler, req *web.Request) *web.Response {
	resp := new(web.Response)
	h.Serve(context.Background(), req, resp)
	return resp
}

func ok(_ context.Context, req *web.Request, resp *web.Response) {
	resp.Status = http.StatusOK
	resp.Body = append(resp.Body, req.Query...)
}

// Each request gets its own answer, whichever worker gives it, and is counted.
func TestAround(t *testing.T) {
	for _, c := range []claims{{dispatch: "direct", counting: "packed", json: "seam", admission: admission{kind: "none"}},
		{dispatch: "channel", counting: "padded", json: "seam", workers: 3, admission: admission{kind: "fixed", most: 8, maxWait: time.Minute, target: time.Minute}},
		{dispatch: "ring", counting: "none", json: "v2", admission: admission{kind: "aimd", most: 80, maxWait: time.Minute, target: time.Minute}}} {
		if err := c.open(); err != nil {
			t.Fatal(err)
		}
		h := c.around(web.HandlerFunc(ok))
		var callers sync.WaitGroup
		for caller := range 8 {
			callers.Go(func() {
				for i := range 200 {
					want := fmt.Sprintf("%d-%d", caller, i)
					if resp := serve(h, &web.Request{Query: want}); string(resp.Body) != want {
						t.Errorf("%s: %s, want %s", c.dispatch, resp.Body, want)
					}
				}
			})
		}
		callers.Wait()
		c.close()
		switch counts := c.counters.(type) {
		case *packed:
			if counts.running.Load() != 0 || counts.classes[2].Load() != 1600 {
				t.Errorf("packed: %d in flight, %d good", counts.running.Load(), counts.classes[2].Load())
			}
		case *padded:
			if counts.running.Load() != 0 || counts.classes[2].Load() != 1600 {
				t.Errorf("padded: %d in flight, %d good", counts.running.Load(), counts.classes[2].Load())
			}
		}
	}
}

// A request for which the queue has no room is refused immediately.
func TestPoolIsBounded(t *testing.T) {
	p, err := newPool("ring", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	const many = 10
	held, release := make(chan struct{}, many), make(chan struct{})
	h := p.dispatched(web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		held <- struct{}{}
		<-release
		ok(ctx, req, resp)
	}))
	statuses := make(chan int, many)
	call := func() { statuses <- serve(h, &web.Request{}).Status }
	go call()
	<-held // by the worker: the queue is empty
	for range many - 1 {
		go call()
	}
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

// What is above a limit is refused when it has waited, and what was refused or answered has given
// its place back.
func TestAdmission(t *testing.T) {
	for _, kind := range []string{"fixed", "aimd"} {
		var inner *web.Response
		var h web.Handler
		h = admitted(limiters[kind](admission{most: 1, maxWait: time.Millisecond, target: time.Minute}), web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			if req.Query == "outer" {
				inner = serve(h, &web.Request{Query: "inner"})
			}
			ok(ctx, req, resp)
		}))
		for range 3 {
			if outer := serve(h, &web.Request{Query: "outer"}); outer.Status != 200 || inner.Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d, and inside %d", kind, outer.Status, inner.Status)
			}
		}
	}
}

// json/v2 writes the bytes that ordersd's own encoders do.
func TestV2(t *testing.T) {
	std, err := encode.JSON("std")
	if err != nil {
		t.Fatal(err)
	}
	one := order.Order{UID: 1, Account: "A1", Symbol: "<\u2028\xff\x00é😀>", Side: order.Buy, Status: order.New, Price: 101_25000000, Version: 1, UpdatedAt: time.Unix(1_800_000_000, 0)}
	answers := func(e encode.Encoder) string {
		b := e.Order(nil, &one, one.UpdatedAt)
		b = e.Page(b, &order.Page{Orders: []order.Order{one, one}}, "")
		b = e.Receipt(b, &order.Receipt{Order: one, Duplicate: true}, "a\"b")
		return string(e.Error(b, one.Symbol, "")) + e.ContentType()
	}
	if got, want := answers(encoders["v2"]), answers(std); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Wrong flags are named before anything starts.
func TestFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--dispatch=rnig": `did you mean "ring"?`, "--counters=padde": `did you mean "padded"?`, "--workers=-1": "--workers is -1",
		"--json=v3": "there are seam, v2", "--admission=fixde": `did you mean "fixed"?`, "--admission=fixed --admit=0": "--admit is 0",
	} {
		var c claims
		s := c.service()
		set := pflag.NewFlagSet("orders", pflag.ContinueOnError)
		s.Flags(set)
		if err := set.Parse(strings.Fields(flag)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), &daemon.Env{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

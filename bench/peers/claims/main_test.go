package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"dyno/parts/daemon"
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
	for _, c := range []claims{{dispatch: "direct", counting: "packed"}, {dispatch: "channel", counting: "padded", workers: 3}, {dispatch: "ring", counting: "none"}} {
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

// Wrong flags are named before anything starts.
func TestFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--dispatch=rnig": `did you mean "ring"?`, "--counters=padde": `did you mean "padded"?`, "--workers=-1": "--workers is -1",
	} {
		var c claims
		s := c.service()
		set := pflag.NewFlagSet("claims", pflag.ContinueOnError)
		s.Flags(set)
		if err := set.Parse([]string{flag}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), &daemon.Env{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

package web

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/guard/guardtest"
	"dyno/parts/httploop"
)

func TestGuarded(t *testing.T) {
	g, err := guard.New(guard.Options{Origins: []string{"https://shop.example"}})
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, serve func(Handler) string) {
		address := serve(Guarded(HandlerFunc(func(_ context.Context, _ *Request, resp *Response) { resp.Status, resp.Vary = 404, "Accept" }), g))
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		guardtest.Refuses(t, client, "POST", "http://"+address+"/x", "{}")
		guardtest.Allows(t, client, "POST", "http://"+address+"/x", "{}", "https://shop.example")
		for text, want := range map[string]int{
			"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n": 421,
			"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n":    404,
			"GET / HTTP/1.0\r\n\r\n": 404,
			"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n": 0,
		} {
			answers, _ := send(t, address, text, 1)
			if got := answers[0].StatusCode; got != want && (want != 0 || got < 400 || got == 404) {
				t.Errorf("%q: %d, want %d", text, got, want)
			}
		}
	})
}

func TestGuardedAllocatesNothing(t *testing.T) {
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := Guarded(HandlerFunc(func(_ context.Context, _ *Request, resp *Response) { resp.Status = 200 }), g)
	req, resp := Request{Method: "GET", Host: "127.0.0.1:8080"}, Response{}
	if n := testing.AllocsPerRun(100, func() { h.Serve(t.Context(), &req, &resp) }); n != 0 {
		t.Errorf("%g allocations for a request", n)
	}
}

// Without a Guard everything may be begun.
func TestLoopWithoutGuard(t *testing.T) {
	l, err := NewLoop(HandlerFunc(func(_ context.Context, _ *Request, resp *Response) { resp.Status = 500 }), LoopOptions{
		FastOptions: fastOptions, Loops: 2, MaxConcurrent: 100,
		Begin: func(_ int, c *Call) string {
			c.Response.Status = 204
			c.Finish()
			return ""
		},
	})
	if errors.Is(err, httploop.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	answers, _ := send(t, start(t, l), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1)
	if got := answers[0].StatusCode; got != 204 {
		t.Errorf("%d, want what Begin answered", got)
	}
}

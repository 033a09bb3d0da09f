package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
)

// maxWaiting bounds what clients have sent and have no answer to, or have not read of their
// answers, in bytes.
const maxWaiting = 256 << 20

// front is an event loop that answers heartbeats itself, and hands each connection that asks for
// something else over to net/http. Drain ends its goroutine, and waits.
type front struct {
	hand   hand
	screen httploop.Screen
	check  func(authorization string) error
	server *httploop.Server
	left   func() // called when no more connections are handed over
	owned  sync.WaitGroup
}

// newFront begins to serve what connects to the listener. The error is httploop.ErrUnsupported
// where the system has no event loops.
func newFront(h hand, l *lameduck.Listener, g *guard.Guard, check func(string) error, patience time.Duration, fail func(error), log *slog.Logger) (*front, error) {
	f := &front{hand: h, screen: httploop.Screen{Guard: g}, check: check}
	var leave func(lameduck.Handed)
	var err error
	f.server, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1, MaxBody: maxBody, MaxBuffered: maxWaiting,
		Leave:       func(h lameduck.Handed) { leave(h) },
		ReadTimeout: patience, WriteTimeout: patience, Log: log,
		Refuse: func(resp *wire.Response, text string) {
			refuse(resp, "the body is not the JSON of this request: "+text)
		},
	})
	if err != nil {
		return nil, err
	}
	leave, f.left = l.HandOver()
	f.owned.Go(func() {
		if err := f.server.Serve(l.TCP()); err != nil {
			fail(err)
		}
	})
	return f, nil
}

func refuse(resp *wire.Response, text string) {
	quoted, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		quoted = []byte(`{"error":"the error is no JSON"}`)
	}
	resp.Add("Content-Type", "application/json")
	resp.Body = append(append(resp.Body, quoted...), '\n')
}

// serves returns why the front does not serve a request; "" means that it does.
func (f *front) serves(r *httploop.Request) (reason string) {
	switch {
	case r.Target != "/api/heartbeat":
		return httploop.ReasonPath
	case r.Method != http.MethodPost:
		return httploop.ReasonMethod
	}
	return f.screen.Denies(r)
}

func (f *front) turn(_ int, requests []*httploop.Request) {
	for _, r := range requests {
		id, known := scan(r.Body)
		switch err := f.refuses(r); {
		case err != nil:
			r.Response.Status = http.StatusUnauthorized
			r.Response.Add("WWW-Authenticate", "Bearer")
			refuse(&r.Response, err.Error())
		case known:
			r.Response.Status = http.StatusOK
			r.Response.Add("Content-Type", "application/json")
			r.Response.Body = f.hand.answer(r.Response.Body, id)
		default:
			f.leaves(r)
		}
	}
	httploop.Done(requests...)
}

// leaves has arenad's own handler answer a request.
func (f *front) leaves(r *httploop.Request) {
	w := &writer{header: http.Header{}}
	f.hand.beats.ServeHTTP(w, &http.Request{Method: r.Method, Body: io.NopCloser(bytes.NewReader(r.Body))})
	r.Response.Status = cmp.Or(w.status, http.StatusOK)
	r.Response.Add("Content-Type", w.header.Get("Content-Type"))
	r.Response.Body = append(r.Response.Body, w.body...)
}

// writer is a ResponseWriter that keeps an answer.
type writer struct {
	header http.Header
	status int
	body   []byte
}

func (w *writer) Header() http.Header    { return w.header }
func (w *writer) WriteHeader(status int) { w.status = status }

func (w *writer) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// refuses returns what is wrong with the Authorization header of a request. Of two, neither counts.
func (f *front) refuses(r *httploop.Request) error {
	if f.check == nil {
		return nil
	}
	var values []string
	for i := range r.Fields {
		if strings.EqualFold(r.Fields[i].Name, "Authorization") {
			values = append(values, r.Fields[i].Value)
		}
	}
	return f.check(strings.Join(values, ", "))
}

// LameDuck ends each connection with its next answer.
func (f *front) LameDuck() { f.server.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *front) Drain(ctx context.Context) error {
	err := f.server.Drain(ctx)
	f.left()
	f.owned.Wait()
	return err
}

package heartbeat

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
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

// Front is beat "loop": an event loop that answers heartbeats itself, and hands each connection
// that asks for something else over to net/http. Drain ends its goroutine, and waits.
type Front struct {
	beats  *Heartbeat
	guard  *guard.Guard
	check  func(authorization string) error
	server *httploop.Server
	left   func() // called when no more connections are handed over
	owned  sync.WaitGroup
}

// FrontOptions are the options of a Front.
type FrontOptions struct {
	Listener    *lameduck.Listener
	Guard       *guard.Guard
	Check       func(authorization string) error // what is wrong with an Authorization header; nil: none is needed
	ReadTimeout time.Duration
	Fail        func(error) // receives an error that ends the loop
	Log         *slog.Logger
}

// NewFront begins to serve what connects to the listener. The error is httploop.ErrUnsupported
// where the system has no event loops.
func NewFront(h *Heartbeat, o FrontOptions) (*Front, error) {
	f := &Front{beats: h, guard: o.Guard, check: o.Check}
	var leave func(*net.TCPConn, []byte, func())
	var err error
	f.server, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1, MaxBody: maxBody, MaxBuffered: maxWaiting,
		Leave:       func(c *net.TCPConn, unread []byte, gone func()) { leave(c, unread, gone) },
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.ReadTimeout, Log: o.Log,
		Refuse: func(resp *wire.Response, text string) {
			resp.Add("Content-Type", "application/json")
			resp.Body = appendError(resp.Body, refusal(errors.New(text)))
		},
	})
	if err != nil {
		return nil, err
	}
	leave, f.left = o.Listener.HandOver()
	f.owned.Go(func() {
		if err := f.server.Serve(o.Listener.TCP()); err != nil {
			o.Fail(err)
		}
	})
	return f, nil
}

// serves reports whether the front serves a request. What a browser sends with a page, and what has
// a meaning in its header fields, is net/http's.
func (f *Front) serves(r *httploop.Request) bool {
	if r.Target != "/api/heartbeat" || r.Method != http.MethodPost || f.guard.Check(guard.Request{Method: r.Method, Host: r.Host}) != nil {
		return false
	}
	for i := range r.Fields {
		name := r.Fields[i].Name
		for _, other := range []string{"Origin", "Sec-Fetch-Site", "Expect", "Upgrade"} {
			if strings.EqualFold(name, other) {
				return false
			}
		}
	}
	return true
}

func (f *Front) turn(_ int, requests []*httploop.Request) {
	for _, r := range requests {
		c := call{body: r.Body, out: r.Response.Body}
		if err := f.refuses(r); err != nil {
			r.Response.Add("WWW-Authenticate", "Bearer")
			c.refuse(http.StatusUnauthorized, err.Error())
		} else {
			f.beats.exchange(&c)
		}
		r.Response.Status = cmp.Or(c.status, http.StatusOK)
		r.Response.Add("Content-Type", "application/json")
		r.Response.Body = c.out
	}
	httploop.Done(requests...)
}

// refuses returns what is wrong with the Authorization header of a request. Of two, neither counts.
func (f *Front) refuses(r *httploop.Request) error {
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
func (f *Front) LameDuck() { f.server.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *Front) Drain(ctx context.Context) error {
	err := f.server.Drain(ctx)
	f.left()
	f.owned.Wait()
	return err
}

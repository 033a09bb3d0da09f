package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"dyno/parts/tracing"
	"dyno/services/orders/web"
)

// middleware puts something around a handler.
type middleware func(web.Handler) web.Handler

// chain puts middlewares around a handler, the first outermost.
func chain(h web.Handler, around ...middleware) web.Handler {
	for i := len(around) - 1; i >= 0; i-- {
		h = around[i](h)
	}
	return h
}

// Classes of requests; each has connections of its own, so that none starves another.
const (
	classRead = iota
	classList
	classWrite
	classes
	classFree = -1 // asks the database nothing
)

var classNames = [classes]string{"reads", "lists", "writes"}

const orderPath = "/api/v1/order"

// openRoutes builds each route's chain.
func (g *Gateway) openRoutes() {
	c := g.config
	g.routes = map[string]*route{}
	for _, r := range []struct {
		path, method string
		class        int
		handler      web.HandlerFunc
	}{
		{orderPath, http.MethodGet, classRead, g.order},
		{"/api/v1/orders", http.MethodGet, classList, g.list},
		{"/api/v1/submit", http.MethodPost, classWrite, g.submit},
		{"/api/v1/validate", http.MethodPost, classFree, g.validate},
	} {
		around := []middleware{g.measure(r.path), g.recover, g.logged(r.path), g.deadlineEach}
		// A batched read goes on when its caller has gone: others share its statement. So it needs no
		// context of its own, which would cost more than what it guards, as would a log line.
		if r.class == classFree || r.class == classRead && c.Lookup == "batch" {
			around = []middleware{g.measure(r.path), g.recover, g.deadlineShared()}
		}
		handler := g.answering(r.handler, append(around, g.authenticate)...)
		g.routes[r.path] = &route{path: r.path, method: r.method, handler: handler, traced: tracing.Route{Name: r.method + " " + r.path, Path: r.path}}
	}
}

// answering puts middlewares around a handler and, inside them, Config.Around, which may have
// another goroutine answer, with no caller that recovers.
func (g *Gateway) answering(h web.Handler, around ...middleware) web.Handler {
	if g.config.Around != nil {
		around = append(around, g.config.Around, g.recover)
	}
	return chain(h, around...)
}

// recover keeps a mistake in one request from ending the process: fasthttp does not.
func (g *Gateway) recover(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		defer func() {
			if r := recover(); r != nil {
				resp.Reset()
				g.refuse(req, resp, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
			}
		}()
		next.Serve(ctx, req, resp)
	})
}

// logged writes a line for each request, if the log's level includes it.
func (g *Gateway) logged(path string) middleware {
	return func(next web.Handler) web.Handler {
		return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			began := time.Now()
			next.Serve(ctx, req, resp)
			g.log.DebugContext(ctx, "request", "path", path, "account", req.Account, "status", resp.Status, "seconds", time.Since(began).Seconds())
		})
	}
}

// deadlineEach gives each request a deadline of its own.
func (g *Gateway) deadlineEach(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		ctx, cancel := context.WithTimeout(ctx, g.config.Timeout)
		defer cancel()
		next.Serve(ctx, req, resp)
	})
}

// deadlineTick is how much later than asked for a shared deadline may come.
const deadlineTick = 10 * time.Millisecond

// deadlineShared gives all requests that begin within a tick one deadline: a timer and a context
// for many. A request's own context is not looked at: a client that goes away does not end its
// read.
func (g *Gateway) deadlineShared() middleware {
	var current atomic.Pointer[tick]
	return func(next web.Handler) web.Handler {
		return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			if g.config.Tracer != nil { // its span is in the context
				g.deadlineEach(next).Serve(ctx, req, resp)
				return
			}
			now := time.Now()
			t := current.Load()
			if t == nil || now.After(t.until) {
				fresh := newTick(now, g.config.Timeout)
				if current.CompareAndSwap(t, fresh) {
					t = fresh
				} else {
					t = current.Load()
					fresh.cancel()
				}
			}
			next.Serve(t.ctx, req, resp)
		})
	}
}

// tick is the deadline of those that begin until a moment.
type tick struct {
	ctx    context.Context
	cancel context.CancelFunc
	until  time.Time
}

func newTick(now time.Time, timeout time.Duration) *tick {
	until := now.Add(deadlineTick)
	ctx, cancel := context.WithDeadline(context.Background(), until.Add(timeout))
	return &tick{ctx: ctx, cancel: cancel, until: until}
}

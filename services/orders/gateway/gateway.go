// Package gateway answers requests for orders. A request goes through its route's chain (chain.go:
// measured, authenticated) to a handler (gateway.go, submit.go), which reads what it asks
// (query.go), and from there through a breaker to the store. What is built how is a Config of
// names.
//
// It knows no server, no flag and no data folder. A Gateway owns its store; Close ends it and
// waits.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/tracing"
	"dyno/services/orders/auth"
	"dyno/services/orders/encode"
	"dyno/services/orders/message"
	"dyno/services/orders/order"
	"dyno/services/orders/store"
	"dyno/services/orders/web"
)

// Gateway answers requests.
type Gateway struct {
	config   Config
	log      *slog.Logger
	store    *store.Store
	verifier *auth.Verifier
	json     encode.Encoder
	msgpack  encode.Encoder
	closers  []func() // the last first
	known    *lastKnown
	breaker  *breaker
	counters *counters
	latency  *latencies
	routes   map[string]*route
}

// route is what a path leads to.
type route struct {
	path    string
	method  string
	traced  tracing.Route
	handler web.Handler
}

// New connects to the database, brings its schema up to date, and puts a gateway together. An error
// that another Config avoids wraps auth.ErrKeys or database.ErrOptions.
func New(ctx context.Context, c Config) (*Gateway, error) {
	c.Auth.Log = c.Log
	g := &Gateway{config: c, log: c.Log, msgpack: encode.Msgpack(), latency: newLatencies(), counters: new(counters)}
	if err := g.open(ctx); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *Gateway) open(ctx context.Context) (err error) {
	c := g.config
	if g.json, err = encode.JSON(c.JSON); err != nil {
		return err
	}
	if c.Encoder != nil {
		g.json = c.Encoder
	}
	g.verifier, err = auth.Open(c.Auth)
	if err != nil {
		return err
	}
	g.closers = append(g.closers, g.verifier.Close)
	g.store, err = store.Open(ctx, c.Options)
	if err != nil {
		return err
	}
	g.closers = append(g.closers, g.store.Close)
	g.breaker = newBreaker(g.store, len(c.DSNs), g.log)
	if c.LastKnown > 0 {
		g.known = newLastKnown(c.LastKnown)
	}
	g.openRoutes()
	return nil
}

// Close releases everything; no request may be in progress.
func (g *Gateway) Close() {
	for len(g.closers) > 0 {
		last := len(g.closers) - 1
		g.closers[last]()
		g.closers = g.closers[:last]
	}
}

// Ready reports whether the database answers.
func (g *Gateway) Ready(ctx context.Context) error { return g.store.Ping(ctx) }

// Serve answers a request.
func (g *Gateway) Serve(ctx context.Context, req *web.Request, resp *web.Response) {
	r := g.routes[req.Path]
	if r == nil {
		g.refuse(req, resp, refusal.New(http.StatusNotFound, "nothing is served at this path; there are /api/v1/order, /api/v1/orders, /api/v1/submit and /api/v1/validate"))
		return
	}
	if !r.takes(req.Method) {
		if resp.Allow = r.method; r.method == http.MethodGet {
			resp.Allow = "GET, HEAD"
		}
		g.refuse(req, resp, refusal.New(http.StatusMethodNotAllowed, "this path answers %s", r.method))
		return
	}
	r.handler.Serve(ctx, req, resp)
}

// HTTP puts what answers requests, the gateway or what is around it, on net/http. It is a ServeMux,
// so that its routes have names.
func (g *Gateway) HTTP(answers web.Handler) http.Handler {
	mux, h := http.NewServeMux(), web.HTTP(answers, message.MaxSize)
	for _, r := range g.routes {
		mux.Handle(r.method+" "+r.path, h)
	}
	mux.Handle("/", h) // whatever is wrong with it, the gateway says so
	return mux
}

// authenticate is the middleware that finds out whose request it is.
func (g *Gateway) authenticate(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		account, err := g.verifier.Verify(req.Authorization, time.Now())
		if err != nil {
			g.refuse(req, resp, err)
			return
		}
		req.Account = account
		next.Serve(ctx, req, resp)
	})
}

// order answers GET /api/v1/order.
func (g *Gateway) order(ctx context.Context, req *web.Request, resp *web.Response) {
	q, err := g.parseOrder(req)
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	began := time.Now()
	o, err := g.find(ctx, q)
	g.show(req, resp, q, began, o, err)
}

// orderQuery is what an order query asks.
type orderQuery struct {
	asked
	enc encode.Encoder // of the answer
}

// parseOrder reads what an order query asks, and in which format.
func (g *Gateway) parseOrder(req *web.Request) (orderQuery, error) {
	a, err := parseOrder(req.Query)
	q := orderQuery{asked: a}
	if err != nil {
		return q, err
	}
	enc, ok := g.encoder(req)
	if !ok {
		return q, errNotAcceptable
	}
	q.enc = enc
	return q, nil
}

// show answers an order query with what a read found that began at that time.
func (g *Gateway) show(req *web.Request, resp *web.Response, q orderQuery, began time.Time, o order.Order, err error) {
	o, staleSince, err := g.orKnown(req, q, began, o, err)
	switch {
	case err != nil:
	case o.UID != q.UID:
		err = fmt.Errorf("order %d came for order %d", o.UID, q.UID)
	case o.Account != req.Account:
		err = g.foreign(q.UID)
	case o.Version < q.MinVersion:
		err = &refusal.Error{Status: http.StatusConflict, Field: "min_version",
			Text: fmt.Sprintf("the order is at version %d, not at %d yet; ask without min_version for what there is", o.Version, q.MinVersion)}
	}
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	if staleSince.IsZero() {
		resp.ETag = etagOf(o.UID, o.Version, q.enc.ContentType() != g.json.ContentType())
		if matches(req.IfNoneMatch, resp.ETag) {
			resp.Status, resp.Vary = http.StatusNotModified, vary
			return
		}
	} else {
		resp.Warning = `110 - "Response is Stale"`
	}
	resp.Body = q.enc.Order(resp.Body, &o, staleSince)
	g.answer(req, resp, http.StatusOK, q.enc)
}

// find reads an order.
func (g *Gateway) find(ctx context.Context, q orderQuery) (order.Order, error) {
	if q.MinVersion > 0 {
		return g.breaker.OrderAtLeast(ctx, q.UID, q.MinVersion)
	}
	return g.breaker.Order(ctx, q.UID)
}

// orKnown remembers what was read, or finds what was known of the order last when the database does
// not answer and the caller allowed that; then it says since when.
func (g *Gateway) orKnown(req *web.Request, q orderQuery, began time.Time, o order.Order, err error) (order.Order, time.Time, error) {
	switch {
	case g.known == nil:
		return o, time.Time{}, err
	case err == nil && q.MinVersion == 0: // what has a version may come from a replica, so it is not kept
		g.known.put(o, began)
	}
	if err == nil || !unavailable(err) && !errors.Is(err, order.ErrBusy) {
		return o, time.Time{}, err
	}
	if allowed, most := maxStale(req.CacheControl); allowed {
		if kept, at, ok := g.known.get(q.UID); ok && time.Since(at) <= most && kept.Version >= q.MinVersion {
			return kept, at, nil
		}
	}
	return o, time.Time{}, err
}

// foreign is the answer for another account's order: unless configured otherwise the same as for an
// order that does not exist, so that clients cannot find out which orders exist.
func (g *Gateway) foreign(uid int64) error {
	if g.config.Foreign == "403" {
		return refusal.New(http.StatusForbidden, "the order belongs to another account")
	}
	return fmt.Errorf("%w: %d", order.ErrNotFound, uid)
}

// list answers GET /api/v1/orders.
func (g *Gateway) list(ctx context.Context, req *web.Request, resp *web.Response) {
	filter, err := parseList(req.Query, req.Account)
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	enc, ok := g.encoder(req)
	if !ok {
		g.refuse(req, resp, errNotAcceptable)
		return
	}
	page, err := g.breaker.Orders(ctx, filter)
	if err != nil {
		g.refuse(req, resp, err)
		return
	}
	resp.Body = enc.Page(resp.Body, &page, cursorOf(page.Next))
	g.answer(req, resp, http.StatusOK, enc)
}

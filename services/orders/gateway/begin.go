package gateway

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"dyno/parts/httploop"
	"dyno/parts/tracing"
	"dyno/services/orders/batcher"
	"dyno/services/orders/order"
	"dyno/services/orders/web"

	"go.opentelemetry.io/otel/trace"
)

// Beginner begins order queries that an event loop has read, so that none of them needs a goroutine
// that waits. It does what the route's chain does (chain.go), where Config.Begins says so; all else
// goes to the chain.
type Beginner struct {
	g     *Gateway
	meter *meter
	loops []underWay
}

// underWay is the queries that a loop has begun. It is that loop's alone.
type underWay struct {
	begun []begun // in the order of their deadlines; some were answered
	count uint64
}

// begun is a query and which use of its memory it is.
type begun struct {
	query  *asynchronous
	number uint64
	until  time.Time
}

// Beginner returns one for as many loops; nil where order queries need what only the chain has.
func (g *Gateway) Beginner(loops int) *Beginner {
	if !g.config.Begins() {
		return nil
	}
	return &Beginner{g: g, meter: g.meter(orderPath), loops: make([]underWay, loops)}
}

// asynchronous is an order query on its way.
type asynchronous struct {
	b     *Beginner
	call  *web.Call
	query orderQuery
	began time.Time
	span  trace.Span // nil: it has none

	state atomic.Uint64 // twice the number of this use; one more when it was answered
}

// reasonBreaker says that the database does not answer: one of the requests that come tries whether
// it is back, and waits.
const reasonBreaker = "breaker"

// Begin takes a request, or returns why the chain must have it. It immediately answers what needs
// no database.
func (b *Beginner) Begin(loop int, c *web.Call) (reason string) {
	g := b.g
	switch {
	case c.Path != orderPath:
		return httploop.ReasonPath
	case c.Method != http.MethodGet && c.Method != http.MethodHead:
		return httploop.ReasonMethod
	}
	began := time.Now()
	account, err := g.verifier.Verify(c.Authorization, began)
	var q orderQuery
	if err == nil {
		c.Account = account
		q, err = g.parseOrder(&c.Request)
	}
	if err == nil && !g.breaker.closed(q.UID) {
		return reasonBreaker
	}
	a, ok := c.Data.(*asynchronous)
	if !ok {
		a = &asynchronous{b: b}
		c.Data = a
	}
	own := &b.loops[loop]
	own.count++
	a.call, a.query, a.began = c, q, began
	a.state.Store(2 * own.count)
	a.span = g.drawSpan(&c.Request)
	if !b.meter.begin() {
		err = order.ErrBusy
	}
	if err == nil {
		err = g.store.BeginAtLeast(q.UID, q.MinVersion, a)
	}
	if err != nil {
		a.state.Add(1)
		a.finish(order.Order{}, err)
		return ""
	}
	own.begun = append(own.begun, begun{a, own.count, began.Add(g.config.Timeout)})
	return ""
}

// Wanted is of batcher.Waiter.
func (a *asynchronous) Wanted() bool { return a.state.Load()&1 == 0 }

// Answered is of batcher.Waiter.
func (a *asynchronous) Answered(found batcher.Answer[order.Order]) {
	if state := a.state.Load(); state&1 == 1 || !a.state.CompareAndSwap(state, state+1) {
		return // it was given up
	}
	err := found.Err
	if err == nil && !found.Found {
		err = order.ErrNotFound
	}
	a.b.g.breaker.learn(a.query.UID, err)
	a.finish(found.Value, err)
}

// finish answers. It is called by who has made the state odd.
func (a *asynchronous) finish(o order.Order, err error) {
	g, c := a.b.g, a.call
	func() {
		defer func() {
			if p := recover(); p != nil {
				c.Response.Reset()
				g.refuse(&c.Request, &c.Response, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		g.show(&c.Request, &c.Response, a.query, a.began, o, err)
	}()
	a.b.meter.end(a.began, c.Response.Status)
	if a.span != nil {
		tracing.End(a.span, g.routes[orderPath].traced, c.Method, c.Response.Status)
		a.span = nil
	}
	c.Finish()
}

// Tick gives up what has waited for the database too long. What was answered is forgotten.
func (b *Beginner) Tick(loop int) {
	own, now := &b.loops[loop], time.Now()
	left := own.begun[:0]
	for _, one := range own.begun {
		a := one.query
		switch {
		case a.state.Load() != 2*one.number: // it was answered
		case now.Before(one.until):
			left = append(left, one)
		case a.state.CompareAndSwap(2*one.number, 2*one.number+1):
			a.call.Data = nil // the batcher still has it: the next request of this memory gets another
			err := b.g.store.Late(a.query.UID)
			b.g.breaker.learn(a.query.UID, err)
			a.finish(order.Order{}, err)
		}
	}
	clear(own.begun[len(left):])
	own.begun = left
}

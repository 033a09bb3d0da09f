package api

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	pages "dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
	"dyno/parts/mediatype"
	"dyno/parts/refusal"
	"dyno/parts/tracing"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// Front is the seam "ingest" as event loops: it answers requests that post one small notice, and
// stores all that came meanwhile as one batch in the log. A connection with another request it hands
// over to net/http, which gives it back afterwards.
//
// Its goroutines are the loops', in Serve, and one that stores; Drain ends them and waits.
type Front struct {
	accept *dispatch.Acceptor
	ctx    context.Context // of what it accepts
	screen httploop.Screen
	allows func(authorization string) bool // nil means that no API key is needed. It does not block
	tracer trace.Tracer                    // nil means no spans
	route  tracing.Route                   // of the requests that it serves
	lines  []byte                          // of the header of every answer
	server *httploop.Server
	leave  func(lameduck.Handed)
	left   func() // called when no more connections are handed over
	owned  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // queue or ended
	queue   []*httploop.Request
	ended   bool // no more requests will come
}

const (
	// Bounds of what is stored together: a batch waits for its largest notice, and 1,000 small ones
	// share an fsync well.
	maxTogether      = 1000
	maxTogetherBytes = 1 << 20

	// maxSmall is the largest body that the front reads: each connection may hold one in memory.
	maxSmall = 64 << 10

	// minBuffered is the lowest bound of what clients may have sent and have no answer to, in bytes.
	// Otherwise the bound is the setting "memory": what is not stored yet has as much as what is.
	minBuffered = 16 << 20
)

// FrontOptions are the options of a Front.
type FrontOptions struct {
	Context     context.Context // of what it accepts
	Listener    *lameduck.Listener
	TLS         *tls.Config // nil means none
	Guard       *pages.Guard
	Allows      func(authorization string) bool // nil means that no API key is needed. It does not block
	ReadTimeout time.Duration
	Memory      int64        // bytes that clients may have sent and have no answer to
	Tracer      trace.Tracer // nil means no spans
	Handler     http.Handler // that the other server has, for the names of spans; nil without a Tracer
	Fail        func(error)  // receives an error that ends the loops; nil means none
	Log         *slog.Logger
}

// NewFront begins to serve what connects to the listener. The error is httploop.ErrUnsupported
// where the system has no event loops.
func NewFront(a *dispatch.Acceptor, o FrontOptions) (*Front, error) {
	f := &Front{accept: a, ctx: o.Context, screen: httploop.Screen{Guard: o.Guard}, allows: o.Allows, tracer: o.Tracer}
	if f.tracer != nil {
		f.route = tracing.RouteOf(o.Handler, http.MethodPost, noticesPath)
	}
	o.Guard.Share("", func(name, value string) { f.lines = fmt.Appendf(f.lines, "%s: %s\r\n", name, value) })
	f.changed.L = &f.mu
	var err error
	f.server, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1,
		Leave: func(c lameduck.Handed) { f.leave(c) }, TLS: o.TLS,
		MaxBody: maxSmall, MaxBuffered: int(max(o.Memory, minBuffered)), ReadTimeout: o.ReadTimeout, WriteTimeout: o.ReadTimeout, Log: o.Log,
		Refuse: func(resp *wire.Response, text string) {
			f.respond(resp, &refusal.Error{Status: resp.Status, Text: text})
		},
	})
	if err != nil {
		return nil, err
	}
	f.leave, f.left = o.Listener.HandOver()
	f.owned.Go(func() {
		if err := f.server.Serve(o.Listener.TCP()); err != nil && o.Fail != nil {
			o.Fail(err)
		}
	})
	f.owned.Go(f.store)
	return f, nil
}

// FrontStats are counters and levels of a front.
type FrontStats struct {
	httploop.Stats
	Queued int // requests that wait to be stored
}

// Stats reads the counters and levels.
func (f *Front) Stats() FrontStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return FrontStats{f.server.Stats(), len(f.queue)}
}

// HandedOver returns how often a connection was handed over to net/http, by reason.
func (f *Front) HandedOver() map[string]uint64 { return f.server.HandedOver() }

const noticesPath = "/v1/notices"

// serves returns why the front does not serve a request; "" means that it does. It reads the header
// fields that postNotices reads, and those before it.
func (f *Front) serves(r *httploop.Request) (reason string) {
	switch {
	case r.Target != noticesPath:
		return httploop.ReasonPath
	case r.Method != http.MethodPost:
		return httploop.ReasonMethod
	}
	if reason = f.screen.Denies(r); reason != "" {
		return reason
	}
	one, keyed, allowed := false, false, f.allows == nil
	for i := range r.Fields {
		switch field := &r.Fields[i]; {
		case field.Is("Content-Type"):
			if one = mediatype.IsJSON(field.Value); !one {
				return "Content-Type" // a batch, or nothing that is known
			}
		case field.Is("Authorization"):
			if keyed { // net/http's handler refuses two
				return "Authorization"
			}
			keyed, allowed = true, allowed || f.allows(field.Value)
		}
	}
	switch {
	case !one:
		return "Content-Type"
	case !allowed:
		return "Authorization"
	}
	return ""
}

// posted is a request's notice and its span. It stays with the request.
type posted struct {
	notice *notice.Notice
	span   trace.Span // nil means none
}

// turn reads notices, on the loop's goroutine, while those of the turn before are stored.
func (f *Front) turn(_ int, requests []*httploop.Request) {
	fresh := make([]*httploop.Request, 0, len(requests))
	for _, r := range requests {
		p, ok := r.Data.(*posted)
		if !ok {
			p = new(posted)
			r.Data = p
		}
		at := f.begin(r, p)
		key := strings.Clone(r.Field("Idempotency-Key")) // the notice may keep it as its id
		err := checkID("Idempotency-Key", key)
		if err == nil {
			p.notice, err = parseNotice(r.Body, key)
		}
		if err != nil {
			f.respond(&r.Response, err)
			f.done(r)
			continue
		}
		if at.IsValid() {
			place := at // which alone is allocated
			p.notice.Trace = &place
		}
		fresh = append(fresh, r)
	}
	if len(fresh) > 0 {
		f.mu.Lock()
		f.queue = append(f.queue, fresh...)
		f.mu.Unlock()
		f.changed.Broadcast()
	}
}

// begin returns a request's place in a trace, as MarkTraces finds it, and starts its span if there
// are any.
func (f *Front) begin(r *httploop.Request, p *posted) (at trace.SpanContext) {
	if f.tracer == nil {
		return tracing.Extract(tracing.Head{Head: &r.Head})
	}
	_, p.span = tracing.Begin(f.ctx, f.tracer, f.route, tracing.Head{Head: &r.Head})
	return p.span.SpanContext()
}

// done completes requests that are answered.
func (f *Front) done(requests ...*httploop.Request) {
	for _, r := range requests {
		p := r.Data.(*posted)
		if p.span != nil {
			tracing.End(p.span, f.route, r.Method, r.Response.Status)
		}
		*p = posted{}
	}
	httploop.Done(requests...)
}

// store answers batch after batch until no more requests will come.
func (f *Front) store() {
	notices := make([]*notice.Notice, 0, maxTogether)
	for batch, waiting := f.next(nil); len(batch) > 0; batch, waiting = f.next(batch) {
		notices = notices[:0]
		for _, r := range batch {
			notices = append(notices, r.Data.(*posted).notice)
		}
		failed := f.answer(batch, notices)
		clear(notices)
		f.done(batch...)
		if failed != nil {
			f.refuse(waiting, failed)
		}
	}
}

// answer stores notices and fills their requests' answers in. failed is as in Acceptor.AcceptEach.
func (f *Front) answer(requests []*httploop.Request, notices []*notice.Notice) (failed error) {
	receipts, refused, failed := f.accept.AcceptEach(f.ctx, notices)
	for i, r := range requests {
		if err := refused[notices[i]]; err != nil {
			f.respond(&r.Response, err)
			continue
		}
		f.received(&r.Response, receipts[i], notices[i])
	}
	return failed
}

// next waits for requests and takes as many as are stored together; none means that no more will
// come. It returns also how many are left waiting.
func (f *Front) next(into []*httploop.Request) (batch []*httploop.Request, waiting int) {
	clear(into)
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && !f.ended {
		f.changed.Wait()
	}
	n, bytes := 0, 0
	for n < len(f.queue) && n < maxTogether && (n == 0 || bytes+len(f.queue[n].Body) <= maxTogetherBytes) {
		bytes += len(f.queue[n].Body)
		n++
	}
	return f.take(into[:0], n), len(f.queue)
}

// take appends the first n requests of the queue. The lock is held.
func (f *Front) take(into []*httploop.Request, n int) []*httploop.Request {
	into = append(into, f.queue[:n]...)
	f.queue = slices.Delete(f.queue, 0, n)
	return into
}

// refuse answers the first n requests of the queue, which have waited while the log was tried in
// vain: trying it for them as well may take as long again, and for those behind them longer.
func (f *Front) refuse(n int, err error) {
	f.mu.Lock()
	requests := f.take(nil, n)
	f.mu.Unlock()
	for _, r := range requests {
		f.respond(&r.Response, err)
	}
	f.done(requests...)
}

// received answers for a notice as postNotices does.
func (f *Front) received(resp *wire.Response, receipt dispatch.Receipt, n *notice.Notice) {
	resp.Status = http.StatusAccepted
	deliveries := n.Owed
	if receipt.Duplicate {
		resp.Status, deliveries = http.StatusOK, 0
	}
	resp.Fields = append(append(resp.Fields, "Content-Type: application/json\r\n"...), f.lines...)
	b := notice.AppendString(append(resp.Body, `{"id":`...), receipt.ID)
	b = strconv.AppendUint(append(b, `,"seq":`...), receipt.Seq, 10)
	if receipt.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	b = strconv.AppendInt(append(b, `,"deliveries":`...), int64(deliveries), 10)
	resp.Body = append(b, "}\n"...)
}

// respond answers with an error.
func (f *Front) respond(resp *wire.Response, err error) {
	w := &answerer{resp: resp, header: http.Header{}}
	AnswerError(w, err)
	for name, values := range w.header {
		for _, value := range values {
			resp.Add(name, value)
		}
	}
	resp.Fields = append(resp.Fields, f.lines...)
}

// answerer lets code for net/http write an event loop's answer.
type answerer struct {
	resp   *wire.Response
	header http.Header
}

func (w *answerer) Header() http.Header    { return w.header }
func (w *answerer) WriteHeader(status int) { w.resp.Status = status }
func (w *answerer) Write(b []byte) (int, error) {
	w.resp.Body = append(w.resp.Body, b...)
	return len(b), nil
}

// LameDuck ends each connection with its next answer.
func (f *Front) LameDuck() { f.server.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front. When ctx ends, what
// waits to be stored is refused, as its clients are cut off; what is being stored is waited for.
func (f *Front) Drain(ctx context.Context) error {
	defer context.AfterFunc(ctx, f.accept.Stop)()
	err := f.server.Drain(ctx)
	f.left()
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.changed.Broadcast()
	f.owned.Wait()
	return err
}

package api

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	pages "dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/httploop/wire"
	"dyno/parts/lameduck"
	"dyno/parts/refusal"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// Front is the seam "ingest" as event loops: it answers requests that post one small notice in the
// plainest way, and stores all that came meanwhile as one batch in the log. It hands every other
// connection over to net/http.
//
// Its goroutines are the loops', in Serve, and one that stores; Drain ends them and waits.
type Front struct {
	accept *dispatch.Acceptor
	ctx    context.Context // of what it accepts
	guard  *pages.Guard
	allows func(authorization string) bool // nil means that no API key is needed. It does not block
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
	Memory      int64       // bytes that clients may have sent and have no answer to
	Fail        func(error) // receives an error that ends the loops; nil means none
	Log         *slog.Logger
}

// NewFront begins to serve what connects to the listener. The error is httploop.ErrUnsupported
// where the system has no event loops.
func NewFront(a *dispatch.Acceptor, o FrontOptions) (*Front, error) {
	f := &Front{accept: a, ctx: o.Context, guard: o.Guard, allows: o.Allows}
	f.changed.L = &f.mu
	var err error
	f.server, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1,
		Leave: func(c lameduck.Handed) { f.leave(c) }, TLS: o.TLS,
		MaxBody: maxSmall, MaxBuffered: int(max(o.Memory, minBuffered)), ReadTimeout: o.ReadTimeout, WriteTimeout: o.ReadTimeout, Log: o.Log,
		Refuse: func(resp *wire.Response, text string) {
			respond(resp, &refusal.Error{Status: resp.Status, Text: text})
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

// serves reports whether the front serves a request. Each field of its header is one that changes
// nothing here or that is checked here; traces, what browsers send with a page, and other fields
// that net/http's handlers read are not.
func (f *Front) serves(r *httploop.Request) bool {
	if r.Target != "/v1/notices" || r.Method != http.MethodPost || f.guard.Check(pages.Request{Method: r.Method, Host: r.Host}) != nil {
		return false
	}
	small, kind, keyed, allowed := false, false, false, f.allows == nil
	for i := range r.Fields {
		field := &r.Fields[i]
		is := func(name string) bool { return strings.EqualFold(field.Name, name) }
		switch {
		case is("Host"), is("User-Agent"), is("Accept"), is("Accept-Encoding"), is("Accept-Language"), is("Idempotency-Key"):
		case is("Content-Length"):
			small = true
		case is("Content-Type"):
			if kind = field.Value == "application/json"; !kind {
				return false
			}
		case is("Connection"):
			if !strings.EqualFold(field.Value, "keep-alive") && !strings.EqualFold(field.Value, "close") {
				return false
			}
		case is("Authorization"):
			if keyed {
				return false // net/http's handler refuses two
			}
			keyed, allowed = true, allowed || f.allows(field.Value)
		default:
			return false
		}
	}
	return small && kind && allowed
}

// turn reads notices, on the loop's goroutine, while those of the turn before are stored.
func (f *Front) turn(_ int, requests []*httploop.Request) {
	fresh := make([]*httploop.Request, 0, len(requests))
	for _, r := range requests {
		key := strings.Clone(r.Field("Idempotency-Key")) // the notice may keep it as its id
		err := checkID("Idempotency-Key", key)
		if err == nil {
			r.Data, err = parseNotice(r.Body, key)
		}
		if err != nil {
			respond(&r.Response, err)
			httploop.Done(r)
		} else {
			fresh = append(fresh, r)
		}
	}
	if len(fresh) > 0 {
		f.mu.Lock()
		f.queue = append(f.queue, fresh...)
		f.mu.Unlock()
		f.changed.Broadcast()
	}
}

// store answers batch after batch until no more requests will come.
func (f *Front) store() {
	notices := make([]*notice.Notice, 0, maxTogether)
	for batch := f.next(nil); len(batch) > 0; batch = f.next(batch) {
		notices = notices[:0]
		for _, r := range batch {
			notices = append(notices, r.Data.(*notice.Notice))
			r.Data = nil
		}
		f.answer(batch, notices)
		clear(notices)
		httploop.Done(batch...)
	}
}

// answer stores notices and fills their requests' answers in. Those that are refused together are
// tried by halves, since the cause may be one of them, or their number.
func (f *Front) answer(requests []*httploop.Request, notices []*notice.Notice) {
	attempt := f.accept.TryAccept
	if len(notices) == 1 {
		attempt = f.accept.Accept
	}
	receipts, _, err := attempt(f.ctx, notices)
	switch half := len(notices) / 2; {
	case err == nil:
		for i, r := range requests {
			received(&r.Response, receipts[i], notices[i])
		}
	case half == 0 || full(err):
		for _, r := range requests {
			respond(&r.Response, err)
		}
	default:
		f.answer(requests[:half], notices[:half])
		f.answer(requests[half:], notices[half:])
	}
}

// full reports whether notices were refused because the disk is full, so that fewer of them would
// be refused, too.
func full(err error) bool {
	r := (*refusal.Error)(nil)
	return errors.As(err, &r) && r.Status == http.StatusInsufficientStorage
}

// next waits for requests and takes as many as are stored together; none means that no more will
// come.
func (f *Front) next(into []*httploop.Request) []*httploop.Request {
	clear(into)
	into = into[:0]
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
	into = append(into, f.queue[:n]...)
	left := copy(f.queue, f.queue[n:])
	clear(f.queue[left:])
	f.queue = f.queue[:left]
	return into
}

// received answers for a notice as postNotices does.
func received(resp *wire.Response, receipt dispatch.Receipt, n *notice.Notice) {
	resp.Status = http.StatusAccepted
	deliveries := n.Owed
	if receipt.Duplicate {
		resp.Status, deliveries = http.StatusOK, 0
	}
	resp.Fields = append(resp.Fields, "Content-Type: application/json\r\n"...)
	b := notice.AppendString(append(resp.Body, `{"id":`...), receipt.ID)
	b = strconv.AppendUint(append(b, `,"seq":`...), receipt.Seq, 10)
	if receipt.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	b = strconv.AppendInt(append(b, `,"deliveries":`...), int64(deliveries), 10)
	resp.Body = append(b, "}\n"...)
}

// respond answers with an error.
func respond(resp *wire.Response, err error) {
	w := &answerer{resp: resp, header: http.Header{}}
	AnswerError(w, err)
	for name, values := range w.header {
		for _, value := range values {
			resp.Add(name, value)
		}
	}
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

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *Front) Drain(ctx context.Context) error {
	err := f.server.Drain(ctx)
	f.left()
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.changed.Broadcast()
	f.owned.Wait()
	return err
}

package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"dyno/parts/daemon"
	pages "dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
)

// front is the seam "ingest" as event loops: it answers what posts one small notice in the plainest way itself, all
// that came meanwhile as one batch in the log, and hands every other connection over to net/http.
//
// Its goroutines are the loops', in Serve, and one that stores; Drain ends them and waits.
type front struct {
	d      *Dispatcher
	guard  *pages.Guard
	allows func(authorization string) bool // nil: without API keys. It does not block
	server *httploop.Server
	leave  func(c *net.TCPConn, unread []byte, gone func())
	left   func()         // says that no more leave
	owned  sync.WaitGroup // goroutines

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // queue or ended
	queue   []*httploop.Request
	ended   bool // no more will come
}

const (
	// Bounds of what is stored together: a batch is held up by its largest, and 1,000 small ones share an fsync well.
	maxTogether      = 1000
	maxTogetherBytes = 1 << 20

	// maxSmall is the largest body that the front reads: each connection may hold one in memory.
	maxSmall = 64 << 10

	// minBuffered is the least that clients of the front may have sent and have no answer to, in bytes. It is the setting
	// "memory" otherwise: what is not stored yet has as much as what is.
	minBuffered = 16 << 20
)

// newFront begins to serve what connects to l. The error is httploop.ErrUnsupported where the system has no event loops.
func newFront(d *Dispatcher, l *lameduck.Listener, g *pages.Guard, allows func(string) bool, readTimeout time.Duration) (*front, error) {
	f := &front{d: d, guard: g, allows: allows}
	f.changed.L = &f.mu
	var err error
	f.server, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1,
		Leave:   func(c *net.TCPConn, unread []byte, gone func()) { f.leave(c, unread, gone) },
		MaxBody: maxSmall, MaxBuffered: int(max(d.config.Memory, minBuffered)), ReadTimeout: readTimeout, WriteTimeout: readTimeout, Log: d.log,
		Refuse: func(resp *httploop.Response, text string) { respond(resp, &refusal{status: resp.Status, text: text}) },
	})
	if err != nil {
		return nil, err
	}
	f.leave, f.left = l.HandOver()
	f.owned.Go(func() {
		if err := f.server.Serve(l.TCP()); err != nil && d.config.Fail != nil {
			d.config.Fail(err)
		}
	})
	f.owned.Go(f.store)
	return f, nil
}

// serves reports whether a request is for the front. Its header has nothing in it but what changes nothing here or is
// looked at here: not so traces, what browsers send with a page, and whatever else net/http's handlers look at.
func (f *front) serves(r *httploop.Request) bool {
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
				return false // net/http's handler says what it thinks of two
			}
			keyed, allowed = true, allowed || f.allows(field.Value)
		default:
			return false
		}
	}
	return small && kind && allowed
}

// turn reads notices, on the loop's goroutine, while those of the turn before are stored.
func (f *front) turn(_ int, requests []*httploop.Request) {
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

// store answers batch after batch until there will be no more.
func (f *front) store() {
	notices := make([]*notice, 0, maxTogether)
	for batch := f.next(nil); len(batch) > 0; batch = f.next(batch) {
		notices = notices[:0]
		for _, r := range batch {
			notices = append(notices, r.Data.(*notice))
			r.Data = nil
		}
		f.answer(batch, notices)
		clear(notices)
		httploop.Done(batch...)
	}
}

// answer stores notices and fills their requests' answers in. Those that are refused together are tried by halves, since
// what is wrong may be one of them, or that there are so many.
func (f *front) answer(requests []*httploop.Request, notices []*notice) {
	attempt := f.d.tryAccept
	if len(notices) == 1 {
		attempt = f.d.accept
	}
	receipts, _, err := attempt(f.d.ctx, notices)
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

// full reports whether notices were refused since the disk is full, so that fewer of them would be, too.
func full(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && r.status == http.StatusInsufficientStorage
}

// next waits for requests and takes as many as are stored together; none: there will be no more.
func (f *front) next(into []*httploop.Request) []*httploop.Request {
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
func received(resp *httploop.Response, receipt receipt, n *notice) {
	resp.Status = http.StatusAccepted
	deliveries := n.owed
	if receipt.Duplicate {
		resp.Status, deliveries = http.StatusOK, 0
	}
	resp.Fields = append(resp.Fields, "Content-Type: application/json\r\n"...)
	b := appendString(append(resp.Body, `{"id":`...), receipt.ID)
	b = strconv.AppendUint(append(b, `,"seq":`...), receipt.Seq, 10)
	if receipt.Duplicate {
		b = append(b, `,"duplicate":true`...)
	}
	b = strconv.AppendInt(append(b, `,"deliveries":`...), int64(deliveries), 10)
	resp.Body = append(b, "}\n"...)
}

// respond answers with an error.
func respond(resp *httploop.Response, err error) {
	w := &answerer{resp: resp, header: http.Header{}}
	answerError(w, err)
	for name, values := range w.header {
		for _, value := range values {
			resp.Add(name, value)
		}
	}
}

// answerer has net/http's handlers write an event loop's answer.
type answerer struct {
	resp   *httploop.Response
	header http.Header
}

func (w *answerer) Header() http.Header    { return w.header }
func (w *answerer) WriteHeader(status int) { w.resp.Status = status }
func (w *answerer) Write(b []byte) (int, error) {
	w.resp.Body = append(w.resp.Body, b...)
	return len(b), nil
}

// LameDuck has each connection end with its next answer.
func (f *front) LameDuck() { f.server.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *front) Drain(ctx context.Context) error {
	err := f.server.Drain(ctx)
	f.left()
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.changed.Broadcast()
	f.owned.Wait()
	return err
}

// openFront opens the front if the assembly has it, and the listener and the settings let it.
func (d *Dispatcher) openFront(env *daemon.Env, allows func(string) bool) (*front, error) {
	switch {
	case d.config.Ingest != "loop":
		return nil, nil
	case env.Listen != net.Listener(env.Connections):
		d.log.Info("net/http reads all requests, as event loops (ingest=loop) do not speak TLS")
		return nil, nil
	case d.spans != nil: // net/http's handler makes the spans of requests
		return nil, nil
	}
	f, err := newFront(d, env.Connections, env.Guard, allows, env.ReadTimeout)
	if errors.Is(err, httploop.ErrUnsupported) {
		d.log.Info("net/http reads all requests, as there are no event loops (ingest=loop) on this system")
		return nil, nil
	}
	return f, err
}

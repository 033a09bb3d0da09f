package jsonrpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
)

// Front serves, on event loops, the POSTs of one address that are a single small call of one of the
// methods in Options.Together. Those that arrive while others are being run are then run in one go,
// as if they were an array; each has its own answer. Other calls of a message that it has read run
// in goroutines of their own. Every other connection it hands over to the listener's next server,
// whose handler is the Server.
//
// Its goroutines are the loop's, two that run calls, and those of other calls; Drain ends them and
// waits.
type Front struct {
	s     *Server
	loops *httploop.Server
	leave func(lameduck.Handed)
	left  func() // called when no more connections are handed over
	lines []byte // of the header of every answer
	owned sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // queue or ended
	queue   []*httploop.Request
	ended   bool // no more requests will come
}

const (
	runners     = 2         // while the calls of one become durable, the other's are checked
	maxTogether = 1000      // calls that are run in one go
	maxSmall    = 64 << 10  // bytes of a body that the loop reads
	maxWaiting  = 256 << 20 // bytes that clients have sent and have no answer to, or have not read of their answers
)

// NewFront begins to serve what connects to a listener, with TLS unless secure is nil. Read and
// write are the times that a client has to send a request and to read its answer. Fail receives an
// error that ends the loop.
// The error is httploop.ErrUnsupported where the system has no event loops.
func NewFront(s *Server, l *lameduck.Listener, secure *tls.Config, read, write time.Duration, fail func(error), log *slog.Logger) (*Front, error) {
	f := &Front{s: s, lines: []byte("Content-Type: application/json\r\n")}
	s.o.HTTP.Share("", func(name, value string) { f.lines = fmt.Appendf(f.lines, "%s: %s\r\n", name, value) })
	f.changed.L = &f.mu
	var err error
	f.loops, err = httploop.New(httploop.Options{
		Turn: f.turn, Serves: f.serves, Loops: 1,
		Leave: func(c lameduck.Handed) { f.leave(c) }, TLS: secure,
		MaxPipelined: 1, MaxBody: maxSmall, MaxBuffered: maxWaiting, ReadTimeout: read, WriteTimeout: write, Log: log,
	})
	if err != nil {
		return nil, err
	}
	f.leave, f.left = l.HandOver()
	f.owned.Go(func() {
		if err := f.loops.Serve(l.TCP()); err != nil {
			fail(err)
		}
	})
	for range runners {
		f.owned.Go(f.run)
	}
	return f, nil
}

// serves reports whether the front serves a request. Each field of its header is one that changes
// nothing here, or is checked here.
func (f *Front) serves(r *httploop.Request) bool {
	if r.Target != "/" || r.Method != http.MethodPost || f.s.o.HTTP.Check(guard.Request{Method: r.Method, Host: r.Host}) != nil {
		return false
	}
	sized, json := false, false
	for i := range r.Fields {
		field := &r.Fields[i]
		is := func(name string) bool { return strings.EqualFold(field.Name, name) }
		switch {
		case is("Host"), is("User-Agent"), is("Accept"), is("Accept-Encoding"), is("Accept-Language"):
		case is("Content-Length"):
			sized = true
		case is("Content-Type"):
			if json = takes([]string{field.Value}); !json {
				return false
			}
		case is("Connection"):
			if !strings.EqualFold(field.Value, "keep-alive") && !strings.EqualFold(field.Value, "close") {
				return false
			}
		default:
			return false
		}
	}
	return sized && json
}

// turn queues requests, on the loop's goroutine, while those before are run.
func (f *Front) turn(_ int, requests []*httploop.Request) {
	f.mu.Lock()
	f.queue = append(f.queue, requests...)
	f.mu.Unlock()
	f.changed.Signal()
}

// next waits for requests and takes them; none means that no more will come.
func (f *Front) next(into []*httploop.Request) []*httploop.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 && !f.ended {
		f.changed.Wait()
	}
	n := min(len(f.queue), maxTogether)
	into = append(into[:0], f.queue[:n]...)
	left := copy(f.queue, f.queue[n:])
	clear(f.queue[left:])
	f.queue = f.queue[:left]
	return into
}

// run answers until no more requests will come.
func (f *Front) run() {
	var batch []*httploop.Request
	groups := map[string]*group{}
	for name := range f.s.o.Together {
		groups[name] = &group{}
	}
	for batch = f.next(batch); len(batch) > 0; batch = f.next(batch) {
		for _, r := range batch {
			f.sort(r, groups)
		}
		for _, g := range groups {
			if len(g.calls) > 0 {
				f.together(g)
			}
		}
		clear(batch)
	}
}

// group is calls of one method, each of a request.
type group struct {
	calls    []Call
	requests []*httploop.Request
	taken    []*exchange
}

// sort adds the call of a request to its group, or has another goroutine serve it.
func (f *Front) sort(r *httploop.Request, groups map[string]*group) {
	x := f.s.exchange()
	if f.s.o.Codec.Decode(r.Body, f.s.bounds.MaxCalls, &x.batch) == nil && !x.batch.Array && len(x.batch.Calls) == 1 && x.batch.Calls[0].Error == nil {
		if g := groups[string(x.batch.Calls[0].Method)]; g != nil {
			g.calls, g.requests, g.taken = append(g.calls, x.batch.Calls[0]), append(g.requests, r), append(g.taken, x)
			return
		}
	}
	x.batch.Reset()
	x.message.Write(r.Body)
	f.owned.Go(func() {
		defer f.s.release(x)
		f.s.serve(context.Background(), x)
		f.answer(r, x)
		httploop.Done(r)
	})
}

// together runs the calls of a group and answers them.
func (f *Front) together(g *group) {
	f.s.callTogether(context.Background(), g.calls)
	for i, x := range g.taken {
		answers := newAnswers(f.s.o.Codec, x.answer[:0], false, f.s.bounds.MaxAnswer)
		answers.add(&g.calls[i])
		x.answer = answers.all()
		f.answer(g.requests[i], x)
		f.s.release(x)
	}
	httploop.Done(g.requests...)
	clear(g.calls)
	clear(g.requests)
	clear(g.taken)
	g.calls, g.requests, g.taken = g.calls[:0], g.requests[:0], g.taken[:0]
}

// answer makes the answer of an exchange that of a request. A large one is not copied.
func (f *Front) answer(r *httploop.Request, x *exchange) {
	to := &r.Response
	to.Fields = append(to.Fields, f.lines...)
	switch to.Status = http.StatusOK; {
	case len(x.answer) == 0:
		to.Status = http.StatusNoContent
	case len(x.answer) > maxSmall:
		to.Body, x.answer = x.answer, nil
	default:
		to.Body = append(to.Body, x.answer...)
	}
}

// LameDuck ends each connection with its next answer.
func (f *Front) LameDuck() { f.loops.LameDuck() }

// Drain answers what arrives, as httploop.Server's does, and ends the front.
func (f *Front) Drain(ctx context.Context) error {
	before := f.Stats().Refused
	err := f.loops.Drain(ctx)
	f.left()
	if n := f.Stats().Refused - before; n > 0 {
		f.s.o.Log.Warn("requests that had not arrived whole when the server stopped were refused", "requests", n)
	}
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.changed.Broadcast()
	f.owned.Wait()
	return err
}

// Stats are counts of the loop.
func (f *Front) Stats() httploop.Stats { return f.loops.Stats() }

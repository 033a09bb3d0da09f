package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck"

	"go.uber.org/goleak"
)

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// drained is a Fast whose drain is what a test is about.
type drained struct {
	*Fast
	t       *testing.T
	address string
}

func startDrained(t *testing.T, h HandlerFunc) drained {
	t.Helper()
	verifyNoLeak(t)
	f := NewFast(h, FastOptions{MaxBody: testMaxBody, MaxConnections: 10, ClientTimeout: time.Hour, Log: fastOptions.Log})
	l := listen(t)
	f.Start(l, l, func(err error) { t.Error(err) })
	return drained{f, t, l.Addr().String()}
}

func listen(t *testing.T) *lameduck.Listener {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// dial connects, sends text, and waits until the server has the connection and n answers are read.
func (d drained) dial(text string, n int) (net.Conn, *bufio.Reader) {
	d.t.Helper()
	before := d.open()
	c, err := net.Dial("tcp", d.address)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		d.t.Fatal(err)
	}
	for d.open() == before {
		runtime.Gosched() // the accepting goroutine is fasthttp's: there is nothing else to wait for
	}
	in := bufio.NewReader(c)
	for range n {
		d.answer(in)
	}
	return c, in
}

func (d drained) open() int {
	d.conns.mu.Lock()
	defer d.conns.mu.Unlock()
	return len(d.conns.conns)
}

func (d drained) answer(in *bufio.Reader) (*http.Response, string) {
	d.t.Helper()
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return resp, string(body)
}

// waitDraining returns when Drain has begun.
func (d drained) waitDraining() {
	for !d.conns.under.Leaving() {
		runtime.Gosched()
	}
}

func ok(_ context.Context, _ *Request, resp *Response) {
	resp.Status = 200
	resp.Body = append(resp.Body, "whole"...)
}

// A client that has sent no whole request holds nothing up, and Drain would otherwise never return
// here, as no time ends it.
func TestDrainEndsWhatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		answers int
	}{
		"nothing sent":       {"", 0},
		"half a first line":  {"GET /", 0},
		"half a header":      {"GET / HTTP/1.1\r\nHost: x\r\nAuthoriz", 0},
		"half a body":        {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", 0},
		"idle":               {get, 1},
		"idle after several": {get + get + get, 3},
		"half a second":      {get + "GET / HT", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDrained(t, ok)
			_, in := d.dial(c.text, c.answers)
			if err := d.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			if _, err := in.ReadByte(); err == nil {
				t.Error("the connection is still served")
			}
		})
	}
}

// What is being answered is answered wholly, with the word that nothing follows; so is what was
// sent together with it.
func TestDrainWaits(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	d := startDrained(t, func(ctx context.Context, req *Request, resp *Response) {
		close(began)
		<-finish
		ok(ctx, req, resp)
	})
	_, idle := d.dial("", 0)
	_, in := d.dial(get, 0)
	<-began
	down := make(chan error)
	go func() { down <- d.Drain(context.Background()) }()
	d.waitDraining()
	if _, err := idle.ReadByte(); err == nil {
		t.Error("the silent connection is still served")
	}
	close(finish)
	if resp, body := d.answer(in); resp.StatusCode != 200 || body != "whole" || !resp.Close {
		t.Errorf("%d %q, close %t", resp.StatusCode, body, resp.Close)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// Answers that fasthttp keeps back, because more was sent with their requests, are not lost.
func TestDrainSendsWhatWasKeptBack(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	d := startDrained(t, func(ctx context.Context, req *Request, resp *Response) {
		if req.Path == "/last" {
			close(began)
			<-finish
		}
		ok(ctx, req, resp)
	})
	_, in := d.dial(get+get+"GET /last HTTP/1.1\r\nHost: x\r\n\r\n", 0)
	<-began
	down := make(chan error)
	go func() { down <- d.Drain(context.Background()) }()
	d.waitDraining()
	close(finish)
	for range 3 {
		if resp, body := d.answer(in); resp.StatusCode != 200 || body != "whole" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// A request that does not end is cut off: its context ends, Drain says how many there were, and it
// returns after their handlers have.
func TestDrainCutsOff(t *testing.T) {
	began, returned := make(chan struct{}), make(chan struct{}, 2)
	d := startDrained(t, func(ctx context.Context, _ *Request, resp *Response) {
		began <- struct{}{}
		<-ctx.Done()
		resp.Status = 200
		returned <- struct{}{}
	})
	d.dial("", 0)
	_, first := d.dial(get, 0)
	_, second := d.dial(get, 0)
	<-began
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	down := make(chan error)
	go func() { down <- d.Drain(ctx) }()
	d.waitDraining()
	select {
	case err := <-down:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel()
	if err := <-down; err == nil || !strings.HasPrefix(err.Error(), "2 requests were still under way after ") {
		t.Errorf("%v", err)
	}
	if len(returned) != 2 {
		t.Errorf("%d of 2 handlers have returned", len(returned))
	}
	for _, in := range []*bufio.Reader{first, second} {
		if _, err := in.ReadByte(); err == nil {
			t.Error("an answer came after the cut")
		}
	}
}

// A handler that does not heed its context is waited for, so that it never uses what is closed
// after Shutdown.
func TestDrainOutlastsHandlers(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	d := startDrained(t, func(context.Context, *Request, *Response) {
		close(began)
		<-finish
	})
	_, in := d.dial(get, 0)
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	down := make(chan error)
	go func() { down <- d.Drain(ctx) }()
	if _, err := in.ReadByte(); err == nil {
		t.Error("an answer came after the cut")
	}
	select {
	case err := <-down:
		t.Fatalf("a handler still runs: %v", err)
	default:
	}
	close(finish)
	if err := <-down; err == nil {
		t.Error("there is no error")
	}
}

// A traced request is cut off too, and its context has the span's values.
func TestTracedContext(t *testing.T) {
	type key struct{}
	base, cancel := context.WithCancel(context.Background())
	ctx, stop := context.WithTimeout(spanned{base, context.WithValue(context.Background(), key{}, "span")}, time.Hour)
	defer stop()
	if got := ctx.Value(key{}); got != "span" {
		t.Errorf("%v", got)
	}
	cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
}

// Beyond the bound there is a JSON error; a connection that ends makes room for another.
func TestMaxConnections(t *testing.T) {
	d := startDrained(t, ok)
	var held []net.Conn
	for range 10 {
		c, _ := d.dial(get, 1)
		held = append(held, c)
	}
	for range 3 {
		answers, bodies := send(t, d.address, get, 1)
		h := answers[0].Header
		if answers[0].StatusCode != 503 || h.Get("Retry-After") != "1" || h.Get("Content-Type") != "application/json" || !answers[0].Close || bodies[0] != overfullBody {
			t.Errorf("%d %v %q", answers[0].StatusCode, h, bodies[0])
		}
	}
	held[0].Close()
	for d.open() == 10 {
		runtime.Gosched()
	}
	d.dial(get, 1)
	if err := d.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

const overfullBody = "{\"error\":\"too many connections are open here; try again later\"}\n"

// verifyNoLeak checks at the end of the test that it left no goroutine.
func verifyNoLeak(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, ignore,
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // sleeps for up to 10 s before it sees that it is to end
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))    // one for the whole process
	})
}

// A listener that was never served is let go of.
func TestDrainAtOnce(t *testing.T) {
	f := NewFast(HandlerFunc(func(context.Context, *Request, *Response) {}), fastOptions)
	l := listen(t)
	f.Start(l, l, func(error) {})
	if err := f.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

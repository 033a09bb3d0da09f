package jsonrpc_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/chain/jsonrpc"
)

// stalled is a client that does not read before it is released.
type stalled struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s stalled) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

const (
	largeCall  = `{"jsonrpc":"2.0","id":1,"method":"large"}`
	threeLarge = "[" + largeCall + "," + largeCall + "," + largeCall + "]"
)

// What holds for net/http's clients holds for those of the event loop.
func TestMaxLargeOfFront(t *testing.T) {
	var ran atomic.Int64
	large := func(context.Context, []byte) (any, error) {
		ran.Add(1)
		return strings.Repeat("x", 8<<20), nil
	}
	small := func(context.Context, []byte) (any, error) { return 1, nil }
	s := jsonrpc.NewBounded(map[string]jsonrpc.Method{"large": large, "small": small}, jsonrpc.Options{Codec: jsonrpc.Std{}}, func(b *jsonrpc.Bounds) { b.MaxLarge = 1 })
	f, url := front(t, s)
	ask := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(threeLarge), threeLarge)
		return c, bufio.NewReader(c)
	}
	until := func(n int64) {
		t.Helper()
		servicetest.Await(t, func() string { return "the calls that may run" }, func() bool { return ran.Load() >= n })
	}
	first, answer := ask()
	until(3)
	answer.Peek(1) // it is being sent
	ask()
	until(4)
	for range 200 { // which others need not wait for
		if _, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"small"}`); !strings.Contains(got, `"result":1`) {
			t.Fatal(got)
		}
	}
	if n := ran.Load(); n != 4 {
		t.Errorf("%d calls ran beside an answer that is not read", n)
	}
	first.Close()
	until(6) // of the second, whose client does not read either
	ask()
	until(7)
	if n := f.Stats().Requests; n != 203 {
		t.Errorf("%d requests on the loop", n)
	}
}

// While as many large answers as permitted are not read, arrays whose answers become large wait,
// and small answers do not.
func TestMaxLarge(t *testing.T) {
	var ran atomic.Int64
	large := func(context.Context, []byte) (any, error) {
		ran.Add(1)
		return strings.Repeat("x", 1<<20), nil
	}
	s := jsonrpc.NewBounded(map[string]jsonrpc.Method{"large": large, "small": func(context.Context, []byte) (any, error) { return 1, nil }},
		jsonrpc.Options{Codec: jsonrpc.Std{}}, func(b *jsonrpc.Bounds) { b.MaxLarge = 1 })
	ask := func(ctx context.Context, w http.ResponseWriter, message string) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/", strings.NewReader(message))
		r.Header.Set("Content-Type", "application/json")
		s.ServeHTTP(w, r)
	}
	until := func(n int64) {
		servicetest.Await(t, func() string { return "the calls that may run" }, func() bool { return ran.Load() >= n })
	}
	var others sync.WaitGroup
	first := stalled{httptest.NewRecorder(), make(chan struct{})}
	others.Go(func() { ask(t.Context(), first, threeLarge) })
	until(3)

	ctx, cancel := context.WithCancel(t.Context())
	second := httptest.NewRecorder()
	others.Go(func() { ask(ctx, second, threeLarge) })
	until(4)
	third := httptest.NewRecorder()
	ask(t.Context(), third, `{"jsonrpc":"2.0","id":1,"method":"small"}`)
	if got := third.Body.String(); !strings.Contains(got, `"result":1`) {
		t.Error(got)
	}
	cancel()
	fourth := httptest.NewRecorder()
	others.Go(func() { ask(t.Context(), fourth, threeLarge) })
	until(5)
	close(first.release)
	others.Wait()
	if n := strings.Count(second.Body.String(), "-32002"); n != 2 || ran.Load() != 7 {
		t.Errorf("%d calls were not run, and %d were in all", n, ran.Load())
	}
	if n := strings.Count(fourth.Body.String(), `"result"`); n != 3 {
		t.Errorf("%d results after the wait", n)
	}
}

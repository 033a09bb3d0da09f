package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/guard/guardtest"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/scan"
)

// serveFront starts a server behind a front and returns its URL.
func serveFront(t *testing.T, methods map[string]jsonrpc.Method, o jsonrpc.Options) (*jsonrpc.Front, string) {
	t.Helper()
	o.Codec = scan.Codec{}
	return front(t, jsonrpc.NewServer(methods, o))
}

// front puts a front before a server, and returns their URL.
func front(t *testing.T, s *jsonrpc.Server) (*jsonrpc.Front, string) {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := jsonrpc.NewFront(s, jsonrpc.FrontOptions{
		Listener: l, ReadTimeout: time.Minute, WriteTimeout: time.Minute, Fail: func(err error) { t.Error(err) }, Log: slog.New(slog.DiscardHandler),
	})
	if errors.Is(err, httploop.ErrUnsupported) {
		l.Close()
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	next := lameduck.NewServer(&http.Server{Handler: s}, l)
	var tasks sync.WaitGroup
	tasks.Go(func() { next.Serve(l) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
		defer cancel()
		http.DefaultClient.CloseIdleConnections()
		tasks.Go(func() {
			if err := f.Drain(ctx); err != nil {
				t.Error(err)
			}
		})
		if err := errors.Join(next.Drain(ctx), s.Drain(ctx)); err != nil {
			t.Error(err)
		}
		tasks.Wait()
	})
	return f, "http://" + l.Addr().String()
}

// A front answers as the server does, and hands over what is not its own.
func TestFront(t *testing.T) {
	m := methods()
	o := jsonrpc.Options{Together: map[string]func(context.Context, []jsonrpc.Call){}}
	for _, name := range []string{"echo", "fail", "revert", "panic"} {
		o.Together[name] = func(ctx context.Context, calls []jsonrpc.Call) {
			for i := range calls {
				var err error
				if calls[i].Result, err = m[name](ctx, calls[i].Params); err != nil {
					calls[i].Error = jsonrpc.AsError(err)
				}
			}
		}
	}
	f, url := serveFront(t, m, o)
	for _, tt := range talks {
		if status, got := post(t, url, tt.message); status != http.StatusOK || got != tt.answer {
			t.Errorf("%s\n got %d %s\nwant %s", tt.message, status, got, tt.answer)
		}
	}
	for _, message := range []string{`{"jsonrpc":"2.0","method":"fail"}`, `{"jsonrpc":"2.0","method":"add"}`} {
		if status, got := post(t, url, message); status != http.StatusNoContent || got != "" {
			t.Errorf("%s: %d %s", message, status, got)
		}
	}
	if _, got := post(t, url, `{`); !strings.Contains(got, "-32700") {
		t.Error(got)
	}
	for _, kind := range callTypes {
		if status, got := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, "Content-Type", kind); status != http.StatusOK {
			t.Errorf("%q: %d %s", kind, status, got)
		}
	}
	if got, want := f.Stats().Requests, uint64(len(talks)+3+len(callTypes)); got != want {
		t.Errorf("the loop has answered %d requests, want %d", got, want)
	}
	if status, _ := post(t, url, `{}`, "Content-Type", "text/plain"); status != http.StatusUnsupportedMediaType {
		t.Errorf("plain text: %d", status)
	}
	large := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"echo","params":[%q]}`, strings.Repeat("x", 200_000))
	if status, got := post(t, url, large); status != http.StatusOK || len(got) < 200_000 {
		t.Errorf("a large message: %d, %d bytes", status, len(got))
	}
	guardtest.Refuses(t, http.DefaultClient, http.MethodPost, url, talks[0].message)
	c := dial(t, strings.Replace(url, "http", "ws", 1))
	if got := c.ask("add", "[1,2]"); got != "3" {
		t.Error(got)
	}
}

// Calls that arrive while others are being run are run in one go, and each client has its own
// answer.
func TestFrontTogether(t *testing.T) {
	const clients = 40
	begun, hold := make(chan struct{}, clients), make(chan struct{})
	var mu sync.Mutex
	var groups []int
	m := methods()
	f, url := serveFront(t, m, jsonrpc.Options{Together: map[string]func(context.Context, []jsonrpc.Call){"send": func(_ context.Context, calls []jsonrpc.Call) {
		begun <- struct{}{}
		<-hold
		mu.Lock()
		defer mu.Unlock()
		groups = append(groups, len(calls))
		for i := range calls {
			calls[i].Result = string(calls[i].Params)
		}
	}}})
	var posts sync.WaitGroup
	send := func(i int) {
		posts.Go(func() {
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"[%d]"}`, i, i)
			if _, got := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"send","params":[%d]}`, i, i)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	for i := range 2 { // each runner has one
		send(i)
		<-begun
	}
	for i := 2; i < clients; i++ {
		send(i)
	}
	await(t, "all requests", func() bool { return f.Stats().Requests == clients })
	close(hold)
	posts.Wait()
	if slices.Max(groups) < clients/4 {
		t.Errorf("groups of %v", groups)
	}
}

package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/servers/response"
)

// asked is a request over WebSocket.
type asked struct {
	ID      uint64   `json:"id"`
	Command string   `json:"command"`
	Index   uint32   `json:"ledger_index"`
	Streams []string `json:"streams"`
}

// talk serves WebSocket connections, each by h, and returns the URL and the number of connections.
func talk(t *testing.T, h func(ctx context.Context, c *websocket.Conn)) (string, *atomic.Int64) {
	t.Helper()
	var connections atomic.Int64
	var talking sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		talking.Add(1)
		defer talking.Done()
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		connections.Add(1)
		h(ctx, c)
	}))
	t.Cleanup(func() {
		cancel()
		talking.Wait()
		server.Close()
	})
	return "ws" + strings.TrimPrefix(server.URL, "http"), &connections
}

func hear(ctx context.Context, c *websocket.Conn) (q asked, err error) {
	_, text, err := c.Read(ctx)
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	return q, err
}

func say(ctx context.Context, c *websocket.Conn, format string, args ...any) {
	_ = c.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...))
}

// withID is the answer to a request, with its id in front as rippled writes it, or at the end as
// Clio does.
func withID(q asked, answer string) string {
	answer = strings.Replace(answer, ":7,", fmt.Sprintf(":%d,", q.Index), 1)
	if q.ID%2 == 0 {
		return fmt.Sprintf(`{"id":%d,%s`, q.ID, answer[1:])
	}
	return fmt.Sprintf(`%s,"id":%d}`, strings.TrimSuffix(answer, "}"), q.ID)
}

// Several requests share one connection, and each gets its own answer, in whatever order answers
// arrive.
func TestSocketInFlight(t *testing.T) {
	url, connections := talk(t, func(ctx context.Context, c *websocket.Conn) {
		var held []asked
		for {
			q, err := hear(ctx, c)
			if err != nil {
				return
			}
			if held = append(held, q); len(held) < 4 {
				continue
			}
			for i := range held { // the last first
				say(ctx, c, "%s", withID(held[3-i], ofLedger("["+v1+"]")))
			}
			held = nil
		}
	})
	s := open(t, Config{URL: url, InFlight: 4})
	var done sync.WaitGroup
	for i := range uint32(40) {
		done.Go(func() {
			var a response.Answer
			if err := s.Ledger(context.Background(), 100+i, &a); err != nil || a.Index != 100+i {
				t.Errorf("ledger %d: %d, %v", 100+i, a.Index, err)
			}
		})
	}
	done.Wait()
	if c := s.Counts(); connections.Load() != 1 || !maps.Equal(c.Connections, map[Link]uint64{{"WebSocket", "none"}: 1}) {
		t.Errorf("%d connections, %+v", connections.Load(), c)
	}
}

// A connection closed because of load is SlowDown for all waiting callers, and is not dialled again
// immediately.
func TestSocketClosedForLoad(t *testing.T) {
	url, connections := talk(t, func(ctx context.Context, c *websocket.Conn) {
		_, _ = hear(ctx, c)
		c.Close(websocket.StatusPolicyViolation, "threshold exceeded")
	})
	s := open(t, Config{URL: url})
	want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.SlowDown)
	if e := want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.SlowDown); e.RetryAfter <= 0 || e.RetryAfter > time.Second {
		t.Errorf("got %+v", e)
	}
	if connections.Load() != 1 {
		t.Errorf("%d connections", connections.Load())
	}
}

// A broken connection is dialled again, with growing waits while the server does not answer.
func TestSocketRedials(t *testing.T) {
	url, connections := talk(t, func(ctx context.Context, c *websocket.Conn) {
		q, _ := hear(ctx, c)
		say(ctx, c, "%s", withID(q, ofLedger("[]")))
		_, _ = hear(ctx, c) // and hangs up
	})
	s := open(t, Config{URL: url})
	for range 3 {
		if err := s.Ledger(t.Context(), 7, new(response.Answer)); err != nil {
			t.Fatal(err)
		}
		want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.Gone)
	}
	if connections.Load() != 3 {
		t.Errorf("%d connections", connections.Load())
	}

	gone := open(t, Config{URL: "ws://127.0.0.1:1"})
	want(t, gone.Ledger(t.Context(), 7, new(response.Answer)), response.Gone)
	k := gone.transport.(*socket)
	var last time.Duration
	for range 12 {
		k.mu.Lock()
		k.notUntil = time.Time{} // as if it had passed
		k.mu.Unlock()
		want(t, gone.Ledger(t.Context(), 7, new(response.Answer)), response.Gone)
		if k.redial < last || k.redial > maxRedial {
			t.Errorf("waits %v after %v", k.redial, last)
		}
		last = k.redial
	}
	if last != maxRedial {
		t.Errorf("waits %v at last", last)
	}
	if e := want(t, gone.Ledger(t.Context(), 7, new(response.Answer)), response.Gone); e.RetryAfter < maxRedial/2 {
		t.Errorf("got %+v", e)
	}
}

// A late answer is a Timeout for that request only, and is discarded when it arrives.
func TestSocketLate(t *testing.T) {
	var heard atomic.Bool
	url, connections := talk(t, func(ctx context.Context, c *websocket.Conn) {
		var late []asked
		for {
			q, err := hear(ctx, c)
			if err != nil {
				return
			}
			if q.Index == 8 {
				late = append(late, q)
				heard.Store(true)
				continue
			}
			for _, q := range append(late, q) {
				say(ctx, c, "%s", withID(q, ofLedger("[]")))
			}
		}
	})
	s := open(t, Config{URL: url, Timeout: time.Minute})
	if err := s.Ledger(t.Context(), 7, new(response.Answer)); err != nil { // it is connected
		t.Fatal(err)
	}
	s.config.Timeout = 100 * time.Millisecond
	for !heard.Load() { // a busy machine may not send the first in time
		want(t, s.Ledger(t.Context(), 8, new(response.Answer)), response.Timeout)
	}
	s.config.Timeout = time.Minute
	var a response.Answer
	if err := s.Ledger(t.Context(), 9, &a); err != nil || a.Index != 9 {
		t.Fatal(a.Index, err)
	}
	if connections.Load() != 1 {
		t.Errorf("%d connections", connections.Load())
	}
}

// Errors arrive at the top of a message; one without an id belongs to the oldest request.
func TestSocketErrors(t *testing.T) {
	url, _ := talk(t, func(ctx context.Context, c *websocket.Conn) {
		for {
			q, err := hear(ctx, c)
			if err != nil {
				return
			}
			if q.Index == 8 {
				say(ctx, c, `{"error":"slowDown","error_code":10,"status":"error","type":"response"}`)
			} else {
				say(ctx, c, `{"id":%d,"error":"lgrNotFound","error_code":21,"status":"error","type":"response"}`, q.ID)
			}
		}
	})
	s := open(t, Config{URL: url})
	want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.NotFound)
	want(t, s.Ledger(t.Context(), 8, new(response.Answer)), response.SlowDown)
}

// A message that is too large breaks the connection, and is not kept.
func TestSocketLarge(t *testing.T) {
	url, _ := talk(t, func(ctx context.Context, c *websocket.Conn) {
		q, _ := hear(ctx, c)
		say(ctx, c, `{"id":%d,"pad":"%s"}`, q.ID, strings.Repeat("x", 9000))
		_, _ = hear(ctx, c)
	})
	s := open(t, Config{URL: url, MaxBody: 8192})
	want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.Malformed)
}

// A caller that gives up while it dials returns, and the next caller dials again.
func TestSocketGivesUpDialling(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	var handshakes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handshakes.Add(1) == 1 {
			close(begun)
			<-release
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		if q, err := hear(r.Context(), c); err == nil {
			say(r.Context(), c, "%s", withID(q, ofLedger("["+v1+"]")))
		}
		c.CloseRead(r.Context())
		<-release
	}))
	defer server.Close()
	defer close(release)
	s := open(t, Config{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Timeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if err := s.Ledger(ctx, 7, new(response.Answer)); !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller gets %v", err)
	}
	if err := s.Ledger(t.Context(), 7, new(response.Answer)); err != nil {
		t.Errorf("the next caller gets %v", err)
	}
}

// Close ends requests in flight, and no connection is dialled afterwards.
func TestSocketClose(t *testing.T) {
	arrived := make(chan struct{})
	url, _ := talk(t, func(ctx context.Context, c *websocket.Conn) {
		_, _ = hear(ctx, c)
		close(arrived)
		_, _ = hear(ctx, c)
	})
	s := open(t, Config{URL: url, Timeout: time.Minute})
	failed := make(chan error, 1)
	go func() { failed <- s.Ledger(context.Background(), 7, new(response.Answer)) }()
	<-arrived
	s.Close()
	want(t, <-failed, response.Gone)
	want(t, s.Ledger(t.Context(), 7, new(response.Answer)), response.Gone)
}

// A subscription yields ledgers and validations, skips other messages, and ends with the
// connection.
func TestSubscribe(t *testing.T) {
	url, _ := talk(t, func(ctx context.Context, c *websocket.Conn) {
		q, err := hear(ctx, c)
		if err != nil || q.Command != "subscribe" || len(q.Streams) != 2 {
			t.Errorf("asked %+v, %v", q, err)
		}
		say(ctx, c, `{"id":1,"result":{"ledger_hash":"%s","ledger_index":6,"validated_ledgers":"1-6"},"status":"success","type":"response"}`, hash)
		say(ctx, c, `{"type":"ledgerClosed","ledger_hash":"%s","ledger_index":7,"txn_count":5,"validated_ledgers":"1-7"}`, hash)
		say(ctx, c, `{"type":"serverStatus","server_status":"full"}`)
		say(ctx, c, `{"type":"validationReceived","ledger_hash":"%s","ledger_index":"7","data":"0A0B","full":true}`, hash)
		c.Close(websocket.StatusGoingAway, "")
	})
	s := open(t, Config{URL: "http" + strings.TrimPrefix(url, "ws")})
	var got []string
	for e, err := range s.Subscribe(t.Context(), response.Ledgers, response.Validations) {
		if err != nil {
			got = append(got, response.CodeOf(err).String())
			continue
		}
		got = append(got, fmt.Sprintf("%s %d %d %s %x", e.Stream, e.Index, e.Transactions, e.Complete, e.Validation))
	}
	if want := "ledger 6 0 1-6 ; ledger 7 5 1-7 ; validations 7 0 empty 0a0b; gone"; strings.Join(got, "; ") != want {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
}

// A subscription whose loop or context ends leaves no goroutine and no connection.
func TestSubscribeLeaves(t *testing.T) {
	url, _ := talk(t, func(ctx context.Context, c *websocket.Conn) {
		_, _ = hear(ctx, c)
		say(ctx, c, `{"type":"ledgerClosed","ledger_hash":"%s","ledger_index":7}`, hash)
		_, _ = hear(ctx, c)
	})
	s := open(t, Config{URL: url})
	for range s.Subscribe(t.Context(), response.Ledgers) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Subscribe(ctx, response.Ledgers) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}

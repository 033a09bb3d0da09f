package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"dyno/parts/guard"
	"dyno/parts/guard/guardtest"
	"dyno/parts/servicetest"
	"dyno/services/chain/jsonrpc"
)

// client is a WebSocket of a test.
type client struct {
	t testing.TB
	*websocket.Conn
}

// await waits until a condition holds.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	servicetest.Await(t, func() string { return what }, done)
}

func dial(t testing.TB, url string) client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 30)
	t.Cleanup(func() { conn.CloseNow() })
	return client{t, conn}
}

func (c client) send(message string) {
	c.t.Helper()
	if err := c.Write(c.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

func (c client) receive() string {
	c.t.Helper()
	kind, text, err := c.Read(c.t.Context())
	if err != nil || kind != websocket.MessageText {
		c.t.Fatal(kind, err)
	}
	return string(text)
}

// closed reads until the connection is closed, and returns the code.
func (c client) closed() websocket.StatusCode {
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// ask sends a call and returns its result.
func (c client) ask(method, params string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(c.receive()), &answer); err != nil {
		c.t.Fatal(err)
	}
	return string(answer.Result) + string(answer.Error)
}

func TestSocket(t *testing.T) { eachCodec(t, testSocket) }

func testSocket(t *testing.T, o jsonrpc.Options) {
	_, url := serve(t, methods(), o)
	c := dial(t, url)
	for range 3 {
		for _, tt := range talks {
			c.send(tt.message)
			if got := c.receive(); got != tt.answer {
				t.Errorf("%s\n got %s\nwant %s", tt.message, got, tt.answer)
			}
		}
		c.send(`{"jsonrpc":"2.0","method":"fail"}`) // without an answer
		c.send(`{`)
		if got := c.receive(); !strings.Contains(got, "-32700") {
			t.Error(got)
		}
	}
	c.Write(t.Context(), websocket.MessageBinary, []byte(talks[0].message))
	if code := c.closed(); code != websocket.StatusUnsupportedData {
		t.Errorf("a binary message closes with %d", code)
	}
}

func TestSocketBounds(t *testing.T) {
	s, url := serveBounded(t, methods(), jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxMessage, b.MaxSockets, b.MaxSubscriptions = 1000, 1, 3 })
	c := dial(t, url)
	if _, r, err := websocket.Dial(t.Context(), url, nil); err == nil || r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second WebSocket: %v", err)
	}
	var ids []string
	for range 3 {
		ids = append(ids, c.ask("subscribe", "[]"))
	}
	if got := c.ask("subscribe", "[]"); !strings.Contains(got, "-32005") {
		t.Error(got)
	}
	if n := s.Stats(); n.Sockets != 1 || n.Subscriptions != 3 {
		t.Errorf("%+v", n)
	}
	if got := c.ask("unsubscribe", "["+ids[0]+"]") + c.ask("unsubscribe", "["+ids[0]+"]"); got != "truefalse" {
		t.Error(got)
	}
	if got := c.ask("subscribe", "[]"); !strings.HasPrefix(got, `"0x`) {
		t.Error(got)
	}
	c.send(strings.Repeat(" ", 1001))
	if code := c.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("a message that is too large closes with %d", code)
	}
	await(t, "no sockets", func() bool { return s.Stats() == jsonrpc.Stats{} })
}

func TestGuardsSocket(t *testing.T) {
	own, err := guard.New(guard.Options{Origins: []string{"https://shop.example"}})
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, methods(), jsonrpc.Options{Socket: own})
	guardtest.Refuses(t, http.DefaultClient, http.MethodGet, url, "")
	for origin, status := range map[string]int{"https://shop.example": 101, "https://evil.example": 403, "": 101, url: 101} {
		conn, r, _ := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if r.StatusCode != status {
			t.Errorf("%s: %s", origin, r.Status)
		}
		if conn != nil {
			conn.CloseNow()
		}
	}
	if status, _ := post(t, url, talks[0].message, "Origin", "https://shop.example"); status != http.StatusForbidden {
		t.Errorf("an origin of WebSockets may POST: %d", status)
	}
}

// Messages of a connection are answered concurrently, up to the bound. The connection lives
// although the server does not read the client's answers to its pings meanwhile.
func TestConcurrent(t *testing.T) {
	// Before and after that a client on a busy machine may be late with such an answer: then it has
	// longer.
	for interval := 20 * time.Millisecond; !answersConcurrently(t, interval); interval *= 10 {
		if interval > servicetest.Patience {
			t.Fatalf("disconnected with an interval of %v", interval)
		}
	}
}

// answersConcurrently reports whether the client was not disconnected.
func answersConcurrently(t *testing.T, interval time.Duration) bool {
	const bound = 3
	wait, running := make(chan struct{}), atomic.Int64{}
	release := sync.OnceFunc(func() { close(wait) })
	defer release()
	m := methods()
	m["wait"] = func(context.Context, []byte) (any, error) {
		running.Add(1)
		defer running.Add(-1)
		<-wait
		return "waited", nil
	}
	s, url := serveBounded(t, m, jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxConcurrent, b.PingInterval = bound, interval })
	c := dial(t, url)
	answers, ended := make(chan string, bound+2), make(chan error, 1)
	go func() {
		for {
			_, text, err := c.Read(t.Context())
			if err != nil {
				ended <- err
				return
			}
			answers <- string(text)
		}
	}()
	for i := range bound + 2 {
		c.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"wait"}`, i))
	}
	await(t, "calls run", func() bool { return running.Load() == bound || len(ended) > 0 })
	if len(ended) > 0 {
		return false
	}
	time.Sleep(5 * interval) // several pings
	if s.Stats().Sockets != 1 {
		return false
	}
	if n := running.Load(); n != bound {
		t.Errorf("%d calls run, the bound is %d", n, bound)
	}
	release()
	var got []string
	for range bound + 2 {
		select {
		case answer := <-answers:
			got = append(got, answer)
		case <-ended:
			return false
		}
	}
	slices.Sort(got)
	for i, answer := range got {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"waited"}`, i); answer != want {
			t.Errorf("%s, want %s", answer, want)
		}
	}
	return true
}

// pipes is a listener within a bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c := <-p; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours, nil
}

// A client that answers no pings is disconnected, another one is not.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := jsonrpc.NewBounded(methods(), jsonrpc.Options{Codec: jsonrpc.Std{}}, func(b *jsonrpc.Bounds) { b.PingInterval = time.Second })
		p := make(pipes)
		front := http.Server{Handler: s}
		go front.Serve(p)
		defer close(p)
		through := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
		dial := func(answers bool) client {
			conn, _, err := websocket.Dial(t.Context(), "ws://pipe", &websocket.DialOptions{
				HTTPClient: through, OnPingReceived: func(context.Context, []byte) bool { return answers }})
			if err != nil {
				t.Fatal(err)
			}
			return client{t, conn}
		}
		answering, silent := dial(true), dial(false)
		defer answering.CloseNow()
		ctx := answering.CloseRead(t.Context())
		if code := silent.closed(); code != websocket.StatusPolicyViolation {
			t.Errorf("closed with %d", code)
		}
		time.Sleep(time.Minute)
		if ctx.Err() != nil || s.Stats() != (jsonrpc.Stats{Sockets: 1}) {
			t.Errorf("%v, %+v", ctx.Err(), s.Stats())
		}
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// feed is a method that opens a subscription and passes it to the test.
func feed(m map[string]jsonrpc.Method) <-chan *jsonrpc.Subscription {
	subs := make(chan *jsonrpc.Subscription, 100)
	m["feed"] = func(ctx context.Context, _ []byte) (any, error) {
		sub, err := jsonrpc.Subscribe(ctx, "eth_subscription")
		if err != nil {
			return nil, err
		}
		if err := sub.Send("early"); err != nil {
			return nil, err
		}
		subs <- sub
		return sub.ID(), nil
	}
	return subs
}

func TestSubscriptions(t *testing.T) {
	m := methods()
	subs := feed(m)
	s, url := serve(t, m, jsonrpc.Options{})
	c := dial(t, url)
	id := c.ask("feed", "[]") // the answer comes before the notification
	sub := <-subs
	notification := func(result string) string {
		return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":` + id + `,"result":` + result + `}}`
	}
	if err := sub.Send(map[string]int{"number": 7}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"early"`, `{"number":7}`} {
		if got := c.receive(); got != notification(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if err := sub.Send(make(chan int)); err == nil {
		t.Error("a channel is a result")
	}
	if got := c.ask("unsubscribe", "["+id+"]"); got != "true" {
		t.Error(got)
	}
	<-sub.Done()
	if err := sub.Send(1); err != jsonrpc.ErrClosed {
		t.Errorf("after the end: %v", err)
	}
	sub.Close()

	c.ask("feed", "[]")
	c.CloseNow()
	<-(<-subs).Done() // ends with the connection
	await(t, "none is left", func() bool { return s.Stats() == jsonrpc.Stats{} })
}

// A client that does not read is disconnected with a code that it finds when it reads again.
func TestSlowReader(t *testing.T) {
	m := methods()
	subs := feed(m)
	s, url := serveBounded(t, m, jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxQueue = 100_000 })
	c := dial(t, url)
	c.ask("feed", "[]")
	sub, long := <-subs, strings.Repeat("x", 50_000)
	sent := 0
	for ; sub.Send(long) == nil; sent++ {
		if sent > 100_000 {
			t.Fatal("the queue has no bound")
		}
	}
	if code := c.closed(); code != websocket.StatusTryAgainLater {
		t.Errorf("closed with %d", code)
	}
	await(t, "it is counted", func() bool { return s.Stats() == jsonrpc.Stats{Slow: 1} })
}

// A client that does not read its answers is disconnected too, and its messages are not read
// meanwhile.
func TestReadsNoAnswers(t *testing.T) {
	s, url := serveBounded(t, methods(), jsonrpc.Options{}, func(b *jsonrpc.Bounds) { b.MaxQueue, b.WriteTimeout = 1_000_000, 200*time.Millisecond })
	c := dial(t, url)
	call := `{"jsonrpc":"2.0","id":1,"method":"echo","params":["` + strings.Repeat("x", 500_000) + `"]}`
	for c.Write(t.Context(), websocket.MessageText, []byte(call)) == nil {
	}
	await(t, "it is counted", func() bool { return s.Stats() == jsonrpc.Stats{Slow: 1} })
}

// Calls under way are answered before the close frame.
func TestDrain(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{})
	m := methods()
	m["wait"] = func(context.Context, []byte) (any, error) {
		running <- struct{}{}
		<-release
		return "waited", nil
	}
	s, url := serve(t, m, jsonrpc.Options{})
	c, idle := dial(t, url), dial(t, url)
	idle.ask("subscribe", "[]")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	<-running
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context()) }()
	if code := idle.closed(); code != websocket.StatusGoingAway {
		t.Errorf("an idle connection is closed with %d", code)
	}
	if _, r, err := websocket.Dial(t.Context(), url, nil); err == nil || r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a WebSocket during the drain: %v", err)
	}
	close(release)
	if got := c.receive(); got != `{"jsonrpc":"2.0","id":1,"result":"waited"}` {
		t.Error(got)
	}
	if code := c.closed(); code != websocket.StatusGoingAway {
		t.Errorf("closed with %d", code)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if status, _ := post(t, url, talks[0].message); status != http.StatusOK {
		t.Errorf("POST during the drain: %d", status) // the HTTP server drains it
	}
}

// A drain that does not finish in time cancels the calls under way.
func TestCutOff(t *testing.T) {
	running := make(chan struct{})
	m := methods()
	m["wait"] = func(ctx context.Context, _ []byte) (any, error) {
		close(running)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	s, url := serve(t, m, jsonrpc.Options{})
	c := dial(t, url)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Drain(ctx); err != context.DeadlineExceeded {
		t.Error(err)
	}
	if code := c.closed(); code != -1 {
		t.Errorf("closed with %d", code)
	}
}

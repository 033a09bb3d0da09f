package push

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"dyno/parts/refusal"
)

// expect reads events and compares them, whole, with "name id data".
func (s *stream) expect(t *testing.T, want ...event) {
	t.Helper()
	for _, w := range want {
		if got, err := s.next(); err != nil || got != w {
			t.Fatalf("got %q, %v, want %q", got, err, w)
		}
	}
}

func numbered(seq uint64, kind string) event {
	n := strconv.FormatUint(seq, 10)
	return event{"", n, envelope(kind, n)}
}

// expect reads messages and compares them.
func expect(t *testing.T, conn *websocket.Conn, want ...string) {
	t.Helper()
	for _, w := range want {
		if kind, got, err := conn.Read(t.Context()); err != nil || kind != websocket.MessageText || string(got) != w {
			t.Fatalf("got %s, %v, want %s", got, err, w)
		}
	}
}

func TestSSE(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		b.log.put("order.paid", 3)
		all := b.sse("/v1/stream?after=0")
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := all.answer.Header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if !all.answer.Close {
			t.Error("the connection would be reused with the deadline of the last write")
		}
		all.expect(t, numbered(1, "order.paid"), numbered(2, "order.paid"), numbered(3, "order.paid"))
		resumed := b.sse("/v1/stream?after=0", "Last-Event-ID", "2")
		resumed.expect(t, numbered(3, "order.paid"))
		now := b.sse("/v1/stream?types=alert,invoice.*")
		synctest.Wait()
		b.log.put("order.paid", 1)
		b.log.put("alert", 1)
		b.log.put("invoice.sent", 1)
		now.expect(t, numbered(5, "alert"), numbered(6, "invoice.sent"))
		for _, all := range []*stream{all, resumed} {
			all.expect(t, numbered(4, "order.paid"), numbered(5, "alert"), numbered(6, "invoice.sent"))
		}
		synctest.Wait()
		if got := b.streams.Stats(); got != (Stats{Open: 3, Sent: 6 + 4 + 2}) {
			t.Errorf("stats are %+v", got)
		}
		resumed.close()
		synctest.Wait()
		if b.streams.Count() != 2 {
			t.Errorf("%d streams after one of three has gone", b.streams.Count())
		}
		b.log.close()
		if _, err := all.next(); err != io.EOF {
			t.Errorf("the stream of a source that closes ends with %v", err)
		}
	})
}

func TestWebSocket(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		b.log.put("order.paid", 2)
		all, now := b.ws("/v1/ws?after=1"), b.ws("/v1/ws?types=alert")
		defer all.CloseNow()
		expect(t, all, `{"seq":2,"type":"order.paid","data":{"payload":2}}`)
		synctest.Wait()
		b.log.put("order.paid", 1)
		b.log.add("alert", "[\n\t1 ,\r\n 2 ]")
		b.log.add("alert", "\"\xff\u00e9\xc3\"") // not UTF-8: a browser would end the connection
		expect(t, now, "{\"seq\":4,\"type\":\"alert\",\"data\":{\"payload\":[\n\t1 ,\r\n 2 ]}}",
			`{"seq":5,"type":"alert","data":{"payload":"`+"\uFFFD\u00e9\uFFFD"+`"}}`)
		expect(t, all, `{"seq":3,"type":"order.paid","data":{"payload":3}}`)
		now.Close(websocket.StatusNormalClosure, "")
		synctest.Wait()
		if b.streams.Count() != 1 {
			t.Errorf("%d streams after one of two has gone", b.streams.Count())
		}
		all.Write(t.Context(), websocket.MessageText, []byte("hello"))
		closedWith(t, all, websocket.StatusPolicyViolation)
		synctest.Wait()
		end := b.ws("/v1/ws")
		b.log.close()
		closedWith(t, end, websocket.StatusGoingAway)
	})
}

// A stream that may not go on ends with the reason and without what came after it; others go on.
func TestUnauthorizedEnds(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		events, other, messages := b.sse("/v1/stream"), b.sse("/v1/stream"), b.ws("/v1/ws")
		synctest.Wait()
		why := refusal.New(http.StatusUnauthorized, "your key is gone")
		b.ends[0](why)
		b.ends[2](why)
		b.log.put("secret", 1)
		events.expect(t, event{"unauthorized", "0", `{"error":"your key is gone"}`})
		if _, err := events.next(); err != io.EOF {
			t.Errorf("the stream goes on with %v", err)
		}
		_, text, err := messages.Read(t.Context())
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != 3000 || closed.Reason != "your key is gone" {
			t.Errorf("the WebSocket goes on with %s, %v", text, err)
		}
		other.expect(t, numbered(1, "secret"))
		synctest.Wait()
		if n := b.streams.Count(); n != 1 {
			t.Errorf("%d streams are open", n)
		}
	})
}

// closedWith reads until the connection is closed.
func closedWith(t *testing.T, conn *websocket.Conn, code websocket.StatusCode) {
	t.Helper()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != code {
				t.Errorf("closed with %v, want %d", err, code)
			}
			return
		}
	}
}

func TestGaps(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		b.log.put("a", 9)
		b.log.trim(4)
		b.log.lose(6, 9) // as if their records were damaged
		events := b.sse("/v1/stream?after=1")
		events.expect(t, event{"gap", "3", `{"from":2,"to":3}`}, numbered(4, "a"), numbered(5, "a"),
			event{"gap", "6", `{"from":6,"to":6}`}, numbered(7, "a"), numbered(8, "a"), event{"gap", "9", `{"from":9,"to":9}`})
		messages := b.ws("/v1/ws?after=1&types=none")
		defer messages.CloseNow()
		expect(t, messages, `{"gap":{"from":2,"to":3}}`, `{"gap":{"from":6,"to":6}}`, `{"gap":{"from":9,"to":9}}`)
		b.log.put("a", 1)
		events.expect(t, numbered(10, "a"))
		b.log.trim(11)
		b.sse("/v1/stream?after=4").expect(t, event{"gap", "10", `{"from":5,"to":10}`})
	})
}

func TestSourceFails(t *testing.T) {
	var lines bytes.Buffer
	o := options()
	o.Log = slog.New(slog.NewTextHandler(&lines, nil))
	serve(t, o, func(t *testing.T, b *bench) {
		events, messages := b.sse("/v1/stream"), b.ws("/v1/ws")
		b.log.fail(errors.New("disk on fire"))
		b.log.put("a", 1)
		if got, err := events.next(); err != io.EOF {
			t.Errorf("got %v, %v from a log that cannot be read", got, err)
		}
		closedWith(t, messages, websocket.StatusInternalError)
	})
	if strings.Count(lines.String(), "disk on fire") != 2 {
		t.Errorf("logged: %s", &lines)
	}
}

// The server's deadlines for requests are 30 s; streams outlive them, and show every 15 s that they
// live.
// A stream may read notices before they are announced, and is then woken in vain.
func TestWokenInVain(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		b.log.put("a", 1)
		s := b.sse("/v1/stream?after=0")
		s.expect(t, numbered(1, "a"))
		synctest.Wait()
		b.log.mu.Lock()
		b.log.wake()
		b.log.mu.Unlock()
		synctest.Wait()
		b.log.put("a", 1)
		s.expect(t, numbered(2, "a"))
	})
}

func TestHeartbeats(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		events, messages := b.sse("/v1/stream?types=b"), b.ws("/v1/ws?types=b")
		reading := messages.CloseRead(t.Context()) // answers pings
		go func() {
			time.Sleep(10*time.Minute - time.Second)
			b.log.put("a", 3)
			time.Sleep(2 * time.Second)
			b.log.put("b", 1)
		}()
		events.expect(t, numbered(4, "b"))
		if got := len(events.comments); got != 40 || events.comments[0] != "ping" {
			t.Errorf("%d comments in 10 minutes: %q", got, events.comments)
		}
		<-reading.Done() // for a message came
		synctest.Wait()
		if b.streams.Stats().CutOff != 0 {
			t.Error("a reader that answers is cut off")
		}
	})
}

// A client whose types are rare resumes behind what it has been spared.
func TestHeartbeatMovesID(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		b.log.put("a", 3)
		conn := b.raw("/v1/stream?types=b&after=1")
		defer conn.Close()
		lines := bufio.NewReader(conn)
		for want := range strings.Lines("id: 1\n: ping\nid: 3\n: ping\n") {
			for got := ""; got != want; {
				var err error
				if got, err = lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// What is sent is a sign of life itself; a ping behind much data would wait for its answer too
// long.
func TestNoHeartbeatsWhileNoticesFlow(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		events := b.sse("/v1/stream")
		for seq := range uint64(20) {
			time.Sleep(10 * time.Second)
			b.log.put("a", 1)
			events.expect(t, numbered(seq+1, "a"))
		}
		if len(events.comments) != 0 {
			t.Errorf("%d heartbeats between notices every 10 s", len(events.comments))
		}
	})
}

// rawWebSocket shakes hands and leaves frames to the test.
func (b *bench) rawWebSocket() (net.Conn, *bufio.Reader) {
	conn := b.raw("/v1/ws", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		b.t.Fatal(answer, err)
	}
	return conn, reader
}

func TestDeadPeerIsNoticed(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		alive := b.ws("/v1/ws")
		defer alive.CloseNow()
		alive.CloseRead(t.Context())
		dead, frames := b.rawWebSocket() // reads, and leaves pings unanswered
		defer dead.Close()
		var reading sync.WaitGroup
		reading.Go(func() { io.Copy(io.Discard, frames) })
		time.Sleep(39 * time.Second)
		if b.streams.Count() != 2 {
			t.Errorf("%d streams before the ping is overdue", b.streams.Count())
		}
		time.Sleep(20 * time.Second) // and for the close handshake
		if got := b.streams.Stats(); got.Open != 1 || got.CutOff != 1 {
			t.Errorf("stats are %+v after a ping was not answered", got)
		}
		reading.Wait()
	})
}

func TestProtocolErrorEndsStream(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		conn, frames := b.rawWebSocket()
		defer conn.Close()
		conn.Write([]byte{0x81, 0x00}) // a text frame without a mask
		if _, err := io.Copy(io.Discard, frames); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if b.streams.Count() != 0 {
			t.Error("the stream goes on")
		}
	})
}

func TestSlowReaders(t *testing.T) {
	serve(t, options(), func(t *testing.T, b *bench) {
		// One stream is read immediately, one before the grace is over, and one never.
		quick, late, never := b.sse("/v1/stream"), b.sse("/v1/stream"), b.raw("/v1/stream")
		lateMessages, neverMessages := b.ws("/v1/ws"), b.ws("/v1/ws")
		defer neverMessages.CloseNow()
		readUntilBlank(t, never)
		const notices = 100
		b.log.put("a", notices)
		for seq := range uint64(notices) {
			quick.expect(t, numbered(seq+1, "a"))
		}
		time.Sleep(9 * time.Second)
		if b.streams.Stats().CutOff != 0 {
			t.Error("a reader is cut off within the time it has")
		}
		time.Sleep(3 * time.Second)
		var last event
		for {
			got, err := late.next()
			if err != nil {
				break
			}
			last = got
		}
		if last.name != "slow" || !strings.Contains(last.data, "too slow") {
			t.Errorf("the last a slow reader gets is %q", last)
		}
		closedWith(t, lateMessages, websocket.StatusTryAgainLater)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := b.streams.Stats(); got.CutOff != 4 || got.Open != 1 {
			t.Errorf("stats are %+v, want the 4 slow ones cut off and the quick one open", got)
		}
		never.Close()
		b.log.put("a", 1)
		quick.expect(t, numbered(notices+1, "a"))
	})
}

// readUntilBlank takes the head of an answer and the first id.
func readUntilBlank(t *testing.T, conn io.Reader) {
	t.Helper()
	var got []byte
	one := make([]byte, 1)
	for !bytes.Contains(got, []byte("id: 0\n\n")) {
		if _, err := conn.Read(one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one...)
	}
}

// The envelope holds line ends of all kinds; the client gets the same bytes, with LF for each.
func TestFraming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringMatching(`\{[a: \r\n\t]{0,40}\}`).Draw(t, "envelope")
		frame := new(events).notice(nil, Notice{Seq: 7, Envelope: []byte(data)})
		p := &parser{lines: bufio.NewReader(bytes.NewReader(frame))}
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
		if got, err := p.next(); err != nil || got != (event{"", "7", want}) {
			t.Fatalf("%q arrives as %q, %v", frame, got, err)
		}
		if got, err := p.next(); err == nil {
			t.Fatalf("%q has a second event, %q", frame, got)
		}
	})
}

// However often the connection is cut, the client gets each notice it wants once and in order.
func TestResumeExactlyOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b.x", "c"}), 1, 60).Draw(rt, "kinds")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 20), len(kinds), len(kinds)).Draw(rt, "pauses in s")
		cuts := rapid.SliceOfN(rapid.IntRange(0, 400), 0, 20).Draw(rt, "bytes before a cut")
		overWebSocket := rapid.Bool().Draw(rt, "WebSocket")
		var want, got []uint64
		for i, kind := range kinds {
			if kind != "c" {
				want = append(want, uint64(i+1))
			}
		}
		serve(t, options(), func(_ *testing.T, b *bench) {
			var writing sync.WaitGroup
			ready := make(chan struct{})
			writing.Go(func() {
				<-ready
				for i, kind := range kinds {
					time.Sleep(time.Duration(pauses[i]) * time.Second)
					b.log.put(kind, 1)
				}
				time.Sleep(time.Minute)
				b.log.close()
			})
			if overWebSocket {
				got = b.readMessages(cuts, ready)
			} else {
				got = b.readEvents(cuts, ready)
			}
			writing.Wait()
		})
		if len(got) != len(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				rt.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// readEvents begins at what is new, resumes after each cut with the last id, and calls ready when
// it has the first id; so the first connection is cut later.
func (b *bench) readEvents(cuts []int, ready chan struct{}) (got []uint64) {
	last := ""
	for i := 0; ; i++ {
		headers := []string{}
		if last != "" {
			headers = []string{"Last-Event-ID", last}
		}
		answer, cut := b.stream(headers...)
		if answer == nil {
			return got // the source has closed
		}
		limited := io.Reader(answer.Body)
		if i < len(cuts) {
			limited = io.LimitReader(answer.Body, int64(len("id: 0\n\n")+cuts[i]))
		}
		p := &parser{lines: bufio.NewReader(limited), id: last, lastID: last}
		if i == 0 {
			if _, err := p.lines.Peek(len("id: 0\n\n")); err != nil {
				b.t.Error(err)
			}
			close(ready)
		}
		for {
			e, err := p.next()
			if err != nil {
				break
			}
			seq, _ := strconv.ParseUint(e.id, 10, 64)
			got = append(got, seq)
		}
		last = p.lastID
		cut()
		answer.Body.Close()
	}
}

func (b *bench) stream(headers ...string) (*http.Response, context.CancelFunc) {
	ctx, cancel := context.WithCancel(b.t.Context())
	answer, _ := b.request(ctx, "/v1/stream?types="+url.QueryEscape("a,b.*"), headers...)
	if answer.StatusCode == http.StatusServiceUnavailable {
		answer.Body.Close()
		cancel()
		return nil, nil
	}
	return answer, cancel
}

func (b *bench) readMessages(cuts []int, ready chan struct{}) (got []uint64) {
	close(ready)
	last := "0"
	for i := 0; ; i++ {
		conn, _, err := websocket.Dial(b.t.Context(), "ws://notify.test/v1/ws?types=a,b.*&after="+last, &websocket.DialOptions{HTTPClient: b.client})
		if err != nil {
			return got
		}
		for n := 0; i >= len(cuts) || n < cuts[i]/50; n++ {
			_, message, err := conn.Read(b.t.Context())
			if err != nil {
				break
			}
			last, _, _ = strings.Cut(strings.TrimPrefix(string(message), `{"seq":`), ",")
			seq, _ := strconv.ParseUint(last, 10, 64)
			got = append(got, seq)
		}
		conn.CloseNow()
	}
}

// Over HTTP/2 there is no connection to close, and a deadline that passes would reset the stream.
func TestSSEOverHTTP2(t *testing.T) {
	log := newLog()
	streams := New(log, options())
	server := httptest.NewUnstartedServer(http.HandlerFunc(streams.SSE))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	log.put("a", 1)
	answer, err := server.Client().Get(server.URL + "/v1/stream?after=0")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := &stream{parser: &parser{lines: bufio.NewReader(answer.Body)}}
	events.expect(t, numbered(1, "a"))
	log.close()
	if _, err := events.next(); err != io.EOF || answer.ProtoMajor != 2 {
		t.Errorf("%s ends with %v", answer.Proto, err)
	}
}

package websocket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"dyno/lab/load/websocket/websockettest"
)

func open(t *testing.T, u *url.URL, longest int) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), u, http.Header{"X-Key": {"k"}}, nil, longest)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Write(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return c
}

// Messages of every length encoding arrive as they were queued, in order.
func TestMessagesArrive(t *testing.T) {
	lengths := []int{0, 1, 7, 125, 126, 127, 65535, 65536, 300_000}
	got := make(chan []byte, len(lengths))
	u := websockettest.Serve(t, func(p *websockettest.Peer) {
		for range lengths {
			_, payload, err := p.Frame()
			if err != nil {
				t.Error(err)
				return
			}
			got <- payload
		}
	})
	c := open(t, u, 1)
	for _, n := range lengths {
		c.Queue(bytes.Repeat([]byte("abc"), n/3+1)[:n])
	}
	for _, n := range lengths {
		if payload := <-got; !bytes.Equal(payload, bytes.Repeat([]byte("abc"), n/3+1)[:n]) {
			t.Errorf("%d bytes arrived as %d others", n, len(payload))
		}
	}
}

func TestReceive(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		want       []string // messages
		err        error    // after the messages; nil: any error
	}{
		{"messages", "\x81\x02hi\x82\x01b\x81\x7e\x00\x03abc", []string{"hi", "b", "abc"}, io.EOF},
		{"fragments around a ping", "\x89\x00\x01\x02ab\x89\x01p\x00\x01c\x80\x01d", []string{"abcd"}, nil},
		{"cut off", "\x81\x05hi", nil, io.ErrUnexpectedEOF},
		{"cut off in the head", "\x81", nil, io.ErrUnexpectedEOF},
		{"masked", "\x81\x82\x00\x00\x00\x00hi", nil, ErrProtocol},
		{"an extension's bit", "\xc1\x02hi", nil, ErrProtocol},
		{"a continuation of nothing", "\x80\x02hi", nil, ErrProtocol},
		{"a message within another", "\x01\x02hi\x81\x02hi", nil, ErrProtocol},
		{"an unknown opcode", "\x83\x00", nil, ErrProtocol},
		{"a fragmented ping", "\x09\x00", nil, ErrProtocol},
		{"too long", "\x81\x7f\x00\x00\x00\x01\x00\x00\x00\x00", nil, ErrTooLong},
		{"too long in fragments", "\x01\x7e\x00\x80" + strings.Repeat("x", 128) + "\x80\x01y", nil, ErrTooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := open(t, websockettest.Serve(t, func(p *websockettest.Peer) { io.WriteString(p, c.sent) }), 128)
			for _, want := range c.want {
				if got, err := conn.Receive(); err != nil || string(got) != want {
					t.Fatalf("%q, %v; want %q", got, err, want)
				}
			}
			if got, err := conn.Receive(); err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("%q, %v; want %v", got, err, c.err)
			}
		})
	}
}

func TestPingsAreAnswered(t *testing.T) {
	pong := make(chan string, 1)
	conn := open(t, websockettest.Serve(t, func(p *websockettest.Peer) {
		io.WriteString(p, "\x89\x03abc")
		op, payload, err := p.Frame()
		if err != nil || op != opPong {
			t.Errorf("opcode %d, %v", op, err)
		}
		pong <- string(payload)
		io.WriteString(p, "\x88\x06\x03\xe9away")
	}), 128)
	_, err := conn.Receive()
	closed := new(CloseError)
	if !errors.As(err, &closed) || closed.Code != 1001 || closed.Reason != "away" {
		t.Errorf("%v", err)
	}
	if got := <-pong; got != "abc" {
		t.Errorf("pong %q", got)
	}
}

func TestRefusedHandshake(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") == "" {
			http.Error(w, "no key", http.StatusForbidden)
			return
		}
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer server.Close()
	u, _ := url.Parse(strings.Replace(server.URL, "http", "ws", 1))
	if _, err := Dial(t.Context(), u, nil, nil, 1); err == nil || !strings.Contains(err.Error(), "403 Forbidden: no key") {
		t.Errorf("%v", err)
	}
	if _, err := Dial(t.Context(), u, http.Header{"X-Key": {"k"}}, nil, 1); !errors.Is(err, ErrProtocol) {
		t.Errorf("an answer without the key's hash: %v", err)
	}
}

// A server that neither reads nor completes its handshake takes a bounded amount of memory.
func TestBounds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n")
		for err == nil { // until the client has closed the connection
			_, err = io.WriteString(conn, "X: "+strings.Repeat("x", 1000)+"\r\n")
		}
	}))
	defer server.Close()
	u, _ := url.Parse(strings.Replace(server.URL, "http", "ws", 1))
	if _, err := Dial(t.Context(), u, nil, nil, 1); err == nil || !strings.Contains(err.Error(), "handshake with "+u.Host) {
		t.Errorf("an endless header: %v", err)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &Conn{net: ours, most: 100, queued: make(chan struct{}, 1)}
	for range 10 {
		c.Queue(make([]byte, 50))
	}
	if err := c.Flush(); err == nil || len(c.out) > 0 {
		t.Errorf("500 bytes were queued: %v", err)
	}
}

// Whatever a server sends, Receive returns messages within their bound, and finally an error.
func FuzzReceive(f *testing.F) {
	for _, s := range []string{"\x81\x02hi", "\x01\x00\x80\x01x", "\x89\x00", "\x88\x02\x03\xe8", "\x81\x7e\x01\x00", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		const longest = 64
		c := &Conn{in: bufio.NewReader(bytes.NewReader(sent)), longest: longest, queued: make(chan struct{}, 1)}
		for n := 0; ; n++ {
			message, err := c.Receive()
			if err != nil {
				return
			}
			if len(message) > longest || n > len(sent) {
				t.Fatalf("%d messages, the last of %d bytes, in %d bytes", n, len(message), len(sent))
			}
		}
	})
}

func TestSendingAndReceivingAllocateNothing(t *testing.T) {
	frame := append([]byte{0x81, 110}, bytes.Repeat([]byte("x"), 110)...)
	source := bytes.NewReader(nil)
	c := &Conn{in: bufio.NewReader(source), longest: 1 << 10, queued: make(chan struct{}, 1)}
	if n := testing.AllocsPerRun(100, func() {
		source.Reset(frame)
		c.in.Reset(source)
		if _, err := c.Receive(); err != nil {
			t.Fatal(err)
		}
		c.Queue(frame)
		c.out = c.out[:0]
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

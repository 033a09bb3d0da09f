package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/ethereum/go-ethereum/common"
	"go.uber.org/goleak"

	"dyno/parts/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a network that runs until the test ends.
type node struct {
	*Network
	address string
	notes   chan string // what came, as KIND BODY
}

// start runs a network. Change may change what it has by default: a key, a log, and handlers; bound
// its bounds.
func start(t *testing.T, change func(*Options), bound ...func(*Network)) *node {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{address: l.Addr().String(), notes: make(chan string, 1000)}
	o := Options{
		Key: NewKey(), Chain: 1337, Genesis: common.Hash{1}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	change(&o)
	if n.Network, err = New(o); err != nil {
		t.Fatal(err)
	}
	for _, do := range bound {
		do(n.Network)
	}
	n.Handle(Head, func(_ context.Context, _ ID, body []byte) error { n.notes <- string(body); return nil })
	n.Serve(Blocks, blocks)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return n
}

// blocks answers what the tests request.
func blocks(ctx context.Context, _ ID, body []byte) ([]byte, error) {
	switch string(body) {
	case "fail":
		return nil, errors.New("no such block")
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "lie":
		return nil, Offencef("it asks for a lie")
	}
	return append([]byte("blocks for "), body...), nil
}

// permit makes a node that permits some IDs.
func permit(ids ...ID) func(*Options) {
	return func(o *Options) { o.Permitted = ids }
}

func (n *node) status(id ID) Status {
	for _, s := range n.Peers() {
		if s.ID == id {
			return s
		}
	}
	return Status{}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	servicetest.Await(t, func() string { return what }, done)
}

// pair starts two nodes that dial each other.
func pair(t *testing.T) (a, b *node) {
	keys := []Key{NewKey(), NewKey()}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a's address must be known before b's is
	if err != nil {
		t.Fatal(err)
	}
	forward := l.Addr().String()
	l.Close()
	b = start(t, func(o *Options) {
		o.Key, o.Addresses = keys[1], []Address{{keys[0].ID(), forward}}
	})
	a = start(t, func(o *Options) {
		o.Key, o.Addresses = keys[0], []Address{{keys[1].ID(), b.address}}
	})
	await(t, "both to be connected", func() bool { return a.status(b.ID()).Connected && b.status(a.ID()).Connected })
	return a, b
}

func TestTalk(t *testing.T) {
	a, b := pair(t)
	for _, way := range []struct{ from, to *node }{{a, b}, {b, a}} {
		large := strings.Repeat("x", 3<<20)
		for _, text := range []string{"head 7", "", large} {
			if err := way.from.Send(way.to.ID(), Head, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if got := <-way.to.notes; got != text {
				t.Errorf("a note of %d bytes came with %d", len(text), len(got))
			}
		}
		way.from.Broadcast(Head, []byte("to all"), ID{})
		if got := <-way.to.notes; got != "to all" {
			t.Errorf("a broadcast came as %q", got)
		}
		way.from.Broadcast(Head, []byte("not to you"), way.to.ID())
		got, err := way.from.Request(t.Context(), way.to.ID(), Blocks, []byte(large))
		if err != nil || !bytes.Equal(got, []byte("blocks for "+large)) {
			t.Errorf("an answer of %d bytes, %v", len(got), err)
		}
		if _, err := way.from.Request(t.Context(), way.to.ID(), Blocks, []byte("fail")); err == nil || !strings.Contains(err.Error(), "no such block") {
			t.Errorf("a refusal: %v", err)
		}
		if len(way.to.notes) > 0 {
			t.Errorf("it also got %q", <-way.to.notes)
		}
	}
	if err := a.Send(ID{1}, Head, nil); !errors.Is(err, ErrGone) {
		t.Errorf("a note to a stranger: %v", err)
	}
	if s := a.status(b.ID()); s.Score != 0 || s.LastSeen == nil || s.Address == "" {
		t.Errorf("the status is %+v", s)
	}
}

// Requests end with the connection, and those beyond the limit are refused without waiting.
func TestRequestsAreBounded(t *testing.T) {
	key := NewKey()
	b := start(t, permit(key.ID()))
	a := start(t, func(o *Options) { o.Key, o.Addresses = key, []Address{{b.ID(), b.address}} })
	await(t, "the connection", func() bool { return a.status(b.ID()).Connected && b.status(a.ID()).Connected })
	p := a.peer(b.ID())
	ends := make(chan error, answering)
	for range answering {
		go func() {
			_, err := a.Request(context.Background(), b.ID(), Blocks, []byte("wait"))
			ends <- err
		}()
	}
	await(t, "all to be answered", func() bool { return len(b.peer(a.ID()).slots) == answering })
	if _, err := a.Request(t.Context(), b.ID(), Blocks, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("one request more: %v", err)
	}
	if err := p.send(message{form: request, kind: Blocks, id: 1 << 40}); err != nil { // past the own limit
		t.Fatal(err)
	}
	if err := p.send(message{form: note, kind: Head, body: []byte("still read")}); err != nil {
		t.Fatal(err)
	}
	if got := <-b.notes; got != "still read" {
		t.Errorf("got %q", got)
	}
	p.end(errors.New("cut"))
	for range answering {
		if err := <-ends; !errors.Is(err, ErrGone) {
			t.Errorf("a request whose connection ended: %v", err)
		}
	}
}

// socket opens a WebSocket to a node as a peer would.
func socket(t *testing.T, n *node, key Key, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	config, err := key.TLS(func(ID) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	t.Cleanup(client.CloseIdleConnections)
	conn, answer, err := websocket.Dial(t.Context(), "wss://"+n.address, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
	if err == nil {
		t.Cleanup(func() { conn.CloseNow() })
		conn.SetReadLimit(-1)
	}
	return conn, answer, err
}

func TestStrangersAreRefused(t *testing.T) {
	known := NewKey()
	n := start(t, permit(known.ID()))
	if conn, _, err := socket(t, n, NewKey(), nil); err == nil {
		t.Errorf("a stranger is connected: %v", conn)
	}
	_, answer, err := socket(t, n, known, http.Header{"Origin": {"https://" + n.address}})
	if err == nil || answer == nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("a browser: %v", err)
	}
	if answer, err := http.Get("http://" + n.address); err == nil {
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("a request without TLS: %v", answer.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if s := n.status(known.ID()); s.Connected || s.Score != 0 {
		t.Errorf("the status is %+v", s)
	}
}

func TestOtherIDIsRefused(t *testing.T) {
	b := start(t, func(*Options) {})
	expected := NewKey().ID()
	a := start(t, func(o *Options) { o.Addresses, o.Permitted = []Address{{expected, b.address}}, []ID{b.ID()} })
	_, err := a.dial(t.Context(), a.client(a.o.Addresses[0]), a.o.Addresses[0])
	if err == nil || !strings.Contains(err.Error(), b.ID().String()) {
		t.Errorf("dialling a node of another id: %v", err)
	}
}

func TestOffencesAreBlamed(t *testing.T) {
	good := greeting{version, 1337, common.Hash{1}}.bytes()
	binary := func(b ...byte) func(*websocket.Conn) error {
		return func(c *websocket.Conn) error { return c.Write(context.Background(), websocket.MessageBinary, b) }
	}
	for _, tt := range []struct {
		name  string
		first []byte
		then  func(*websocket.Conn) error
		why   string
	}{
		{"another chain", greeting{version, 1, common.Hash{1}}.bytes(), binary(byte(heartbeat)), "its chain has the id 1"},
		{"no greeting", []byte{byte(heartbeat)}, binary(byte(heartbeat)), "the first one is no greeting"},
		{"a second greeting", good, binary(good...), "a second greeting"},
		{"nothing", good, binary(), "malformed"},
		{"an unknown form", good, binary(9), "malformed"},
		{"an unknown kind", good, binary(byte(note), 99), "kind 99"},
		{"an unknown request", good, binary(byte(request), 99, 0, 0, 0, 0, 0, 0, 0, 1), "kind 99"},
		{"an offence in a request", good, binary(append([]byte{byte(request), byte(Blocks), 0, 0, 0, 0, 0, 0, 0, 1}, "lie"...)...), "asks for a lie"},
		{"text", good, func(c *websocket.Conn) error {
			return c.Write(context.Background(), websocket.MessageText, []byte("x"))
		}, "binary"},
		{"too large", good, binary(bytes.Repeat([]byte{byte(note)}, 2000)...), "more than 1000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			key := NewKey()
			n := start(t, permit(key.ID()), func(n *Network) { n.maxMessage = 1000 })
			conn, _, err := socket(t, n, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Write(t.Context(), websocket.MessageBinary, tt.first); err != nil {
				t.Fatal(err)
			}
			_ = tt.then(conn) // fails where the first message was enough
			for err == nil {
				_, _, err = conn.Read(t.Context())
			}
			await(t, "the blame", func() bool { return n.status(key.ID()).Score == -1 })
			if s := n.status(key.ID()); s.Connected || !strings.Contains(s.LastError, tt.why) || s.Away <= 0 {
				t.Errorf("the status is %+v, want %q", s, tt.why)
			}
			if _, answer, err := socket(t, n, key, nil); err == nil || answer == nil || answer.StatusCode != http.StatusTooManyRequests {
				t.Errorf("connecting again: %v", err)
			}
		})
	}
}

func TestAwayDoubles(t *testing.T) {
	n := start(t, permit(ID{1}))
	r := n.records[ID{1}]
	for i, want := range []time.Duration{minAway, 2 * minAway, 4 * minAway} {
		n.offended(ID{1}, r, 0, errors.New("x"))
		if away := time.Until(r.until); away > want || away < want-minAway/2 {
			t.Errorf("offence %d: away for %v, want %v", i+1, away, want)
		}
	}
	r.offences = 1000
	if n.offended(ID{1}, r, 0, errors.New("x")); time.Until(r.until) > maxAway {
		t.Errorf("away for %v", time.Until(r.until))
	}
	if n.offended(ID{1}, r, forgiving, errors.New("x")); r.offences != 1 {
		t.Errorf("after a long good connection %d offences count", r.offences)
	}
}

// A peer that does not read loses messages; another gets all meanwhile.
func TestSlowPeerHoldsUpNoOther(t *testing.T) {
	slow, key := NewKey(), NewKey()
	b := start(t, permit(key.ID()))
	a := start(t, func(o *Options) {
		o.Key, o.Addresses, o.Permitted = key, []Address{{b.ID(), b.address}}, []ID{slow.ID()}
	}, func(n *Network) { n.patience = time.Hour })
	conn, _, err := socket(t, a, slow, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageBinary, a.hello.bytes()); err != nil {
		t.Fatal(err)
	}
	await(t, "both", func() bool { return len(a.Connected()) == 2 })
	body := strings.Repeat("x", 1<<16)
	for i := 0; a.status(slow.ID()).Dropped < 3; i++ { // when the kernel's buffers and the queue are full
		text := fmt.Sprint(i, body)
		a.Broadcast(Head, []byte(text), ID{})
		if got := <-b.notes; got != text {
			t.Fatalf("note %d came as %.10q", i, got)
		}
	}
	if s := a.status(slow.ID()); !s.Stalled || s.Queued != queueMessages || a.Totals().Stalled != 1 || a.status(b.ID()).Dropped != 0 {
		t.Errorf("the slow peer is %+v, and the totals %+v", s, a.Totals())
	}
	conn.CloseNow()
	await(t, "the end of the slow peer", func() bool { return a.Totals().Queued == 0 && a.Totals().Stalled == 0 })
}

func TestWrongConfiguration(t *testing.T) {
	key := NewKey()
	for _, tt := range []struct {
		o    Options
		says string
	}{
		{Options{Key: key, Addresses: []Address{{Host: "h:1"}}}, "ID@h:1"},
		{Options{Key: key, Addresses: []Address{{key.ID(), "h:1"}}}, "id of this node"},
	} {
		if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	id := key.ID().String()
	for _, text := range []string{"", "host", "host:", ":1", "host:0", "host:70000", "@host:1", "3d@host:1", id + "@host", id} {
		if a, err := ParseAddress(text); err == nil {
			t.Errorf("%q is read as %v", text, a)
		}
	}
	for _, text := range []string{"host:1", id + "@[::1]:30303"} {
		if a, err := ParseAddress(text); err != nil || a.String() != text {
			t.Errorf("%q is read as %v, %v", text, a, err)
		}
	}
}

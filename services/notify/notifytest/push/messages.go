package push

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/notify/notifytest"

	"github.com/coder/websocket"
)

// messages is an open GET /v1/ws.
type messages struct {
	t    testing.TB
	ctx  context.Context
	conn *websocket.Conn
}

// dial opens a WebSocket.
func dial(c *notifytest.Client, query string) *messages {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.T.Context(), servicetest.Patience)
	url := "ws" + strings.TrimPrefix(c.Program.URL, "http") + "/v1/ws" + query
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: c.HTTP})
	if err != nil {
		cancel()
		c.T.Fatalf("GET /v1/ws%s: %v", query, err)
	}
	conn.SetReadLimit(1 << 20)
	c.T.Cleanup(func() {
		cancel()
		conn.CloseNow()
	})
	return &messages{t: c.T, ctx: ctx, conn: conn}
}

// message is one notice, in its envelope.
type message struct {
	Seq  uint64
	Type string
	Data struct {
		ID, Key string
		Payload json.RawMessage
	}
	Gap   *struct{ From, To uint64 }
	Reset *struct{ From uint64 }
}

func (m *messages) next() (out message, err error) {
	kind, data, err := m.conn.Read(m.ctx)
	if err != nil {
		return out, err
	}
	if kind != websocket.MessageText {
		return out, fmt.Errorf("a message that is no text: %q", data)
	}
	return out, json.Unmarshal(data, &out)
}

func (m *messages) wants(what ...string) {
	m.t.Helper()
	for _, want := range what {
		got, err := m.next()
		if have := fmt.Sprintf("%s@%d", got.Data.ID, got.Seq); err != nil || have != want || got.Type == "" {
			m.t.Fatalf("got %s (%+v, %v), want %s", have, got, err, want)
		}
	}
}

func sendsMessages(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	c.Post(notifytest.One, notifytest.Notice("before", "k", "t", "1"))
	some, all := dial(c, "?types=a,b.*"), dial(c, "")
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Notice("1", "k", "a", `{"x" : 1}`), notifytest.Notice("2", "k", "b", "1"), notifytest.Notice("3", "k", "b.c", "1")))
	some.wants("1@2", "3@4")
	if got, err := all.next(); err != nil || got.Data.ID != "1" || got.Data.Key != "k" || string(got.Data.Payload) != `{"x" : 1}` {
		t.Errorf("%+v, %v", got, err)
	}
	all.wants("2@3", "3@4")
}

func resumesMessages(t *testing.T, start notifytest.Start) {
	c := notifytest.Open(t, start, notifytest.Usual)
	c.Post(notifytest.Batch, notifytest.Lines(notifytest.Series("n", 5, 2)...))
	dial(c, "?after=3").wants("n003@4", "n004@5")
	c.Restart(c.Program.Kill != nil)
	m := dial(c, "?after=1&types=t")
	m.wants("n001@2", "n002@3", "n003@4", "n004@5")
	c.Post(notifytest.One, notifytest.Notice("new", "k", "t", "1"))
	m.wants("new@6")
}

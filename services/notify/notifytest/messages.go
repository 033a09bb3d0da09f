package notifytest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// messages is an open GET /v1/ws.
type messages struct {
	t    testing.TB
	ctx  context.Context
	conn *websocket.Conn
}

// dial opens a WebSocket.
func (c *client) dial(query string) *messages {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	url := "ws" + strings.TrimPrefix(c.program.URL, "http") + "/v1/ws" + query
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: c.http})
	if err != nil {
		cancel()
		c.t.Fatalf("GET /v1/ws%s: %v", query, err)
	}
	conn.SetReadLimit(1 << 20)
	c.t.Cleanup(func() {
		cancel()
		conn.CloseNow()
	})
	return &messages{t: c.t, ctx: ctx, conn: conn}
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

func sendsMessages(t *testing.T, start Start) {
	c := open(t, start, limits)
	c.post(one, notice("before", "k", "t", "1"))
	some, all := c.dial("?types=a,b.*"), c.dial("")
	c.post(batch, lines(notice("1", "k", "a", `{"x" : 1}`), notice("2", "k", "b", "1"), notice("3", "k", "b.c", "1")))
	some.wants("1@2", "3@4")
	if got, err := all.next(); err != nil || got.Data.ID != "1" || got.Data.Key != "k" || string(got.Data.Payload) != `{"x" : 1}` {
		t.Errorf("%+v, %v", got, err)
	}
	all.wants("2@3", "3@4")
}

func resumesMessages(t *testing.T, start Start) {
	c := open(t, start, limits)
	c.post(batch, lines(series("n", 5, 2)...))
	c.dial("?after=3").wants("n003@4", "n004@5")
	c.restart(c.program.Kill != nil)
	m := c.dial("?after=1&types=t")
	m.wants("n001@2", "n002@3", "n003@4", "n004@5")
	c.post(one, notice("new", "k", "t", "1"))
	m.wants("new@6")
}

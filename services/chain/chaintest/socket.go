package chaintest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"dyno/parts/servicetest"

	"github.com/coder/websocket"
)

// Socket is a WebSocket to the program.
type Socket struct {
	c      *Client
	conn   *websocket.Conn
	ids    int
	events []Event // that came before they were asked for
}

// Event is a notification of a subscription.
type Event struct {
	Subscription string          `json:"subscription"`
	Result       json.RawMessage `json:"result"`
}

// Dial opens a WebSocket, which is closed after the test.
func (c *Client) Dial() *Socket {
	c.T.Helper()
	conn, err := c.dial(nil, "")
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { conn.CloseNow() })
	return &Socket{c: c, conn: conn}
}

// TryDial opens and closes a WebSocket, with other header fields and another Host; "" is the usual.
func (c *Client) TryDial(header map[string]string, host string) error {
	conn, err := c.dial(header, host)
	if err != nil {
		return err
	}
	return conn.Close(websocket.StatusNormalClosure, "")
}

func (c *Client) dial(header map[string]string, host string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
	defer cancel()
	o := &websocket.DialOptions{HTTPHeader: http.Header{}, Host: host}
	for name, value := range header {
		o.HTTPHeader.Set(name, value)
	}
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.Program.URL, "http")+"/", o)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(64 << 20)
	return conn, nil
}

// Write sends a message.
func (s *Socket) Write(message string) {
	s.c.T.Helper()
	if err := s.TryWrite(message); err != nil {
		s.c.T.Fatal(err)
	}
}

// TryWrite sends a message; an error when the connection has ended.
func (s *Socket) TryWrite(message string) error {
	ctx, cancel := context.WithTimeout(s.c.T.Context(), servicetest.Patience)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, []byte(message))
}

// TryRead returns the next message.
func (s *Socket) TryRead() ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.c.T.Context(), servicetest.Patience)
	defer cancel()
	_, message, err := s.conn.Read(ctx)
	return message, err
}

// Read returns the next message that is no event.
func (s *Socket) Read() []byte {
	s.c.T.Helper()
	for {
		message, err := s.TryRead()
		if err != nil {
			s.c.T.Fatal(err)
		}
		if e, ok := event(message); ok {
			s.events = append(s.events, e)
			continue
		}
		return message
	}
}

// Event returns the next event.
func (s *Socket) Event() Event {
	s.c.T.Helper()
	for len(s.events) == 0 {
		message, err := s.TryRead()
		if err != nil {
			s.c.T.Fatal(err)
		}
		e, ok := event(message)
		if !ok {
			s.c.T.Fatalf("%s is no event", message)
		}
		s.events = append(s.events, e)
	}
	first := s.events[0]
	s.events = s.events[1:]
	return first
}

func event(message []byte) (Event, bool) {
	var m struct {
		Method string
		Params Event
	}
	err := json.Unmarshal(message, &m)
	return m.Params, err == nil && m.Method == "eth_subscription"
}

// Try calls a method and decodes the result into v.
func (s *Socket) Try(v any, method string, params ...any) error {
	s.c.T.Helper()
	s.ids++
	s.Write(text(Call(s.ids, method, params...)))
	var a Answer
	message := s.Read()
	if err := json.Unmarshal(message, &a); err != nil || string(a.ID) != text(s.ids) {
		s.c.T.Fatalf("%s is answered by %s", method, message)
	}
	return a.Into(v)
}

// Array sends calls together and returns their answers.
func (s *Socket) Array(calls ...Request) (all []Answer) {
	s.c.T.Helper()
	s.Write(text(calls))
	message := s.Read()
	if err := json.Unmarshal(message, &all); err != nil || len(all) != len(calls) {
		s.c.T.Fatalf("%d calls are answered by %s", len(calls), message)
	}
	return all
}

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dyno/services/ledger/xrpl/answer"
)

// Limits of WebSocket connections.
const (
	maxSockets = 1024 // connections; a further one gets 503
	// Requests of a connection answered concurrently; until one ends, no more are read.
	maxConcurrent = 16
	writeTimeout  = 30 * time.Second // per answer; a client that reads more slowly is disconnected
)

type sockets struct {
	closing chan struct{}   // closed by Close: each connection ends when its requests are answered
	life    context.Context // context of all connections
	cut     context.CancelFunc

	mu     sync.Mutex
	count  int
	closed bool
	ended  sync.WaitGroup
}

func newSockets() *sockets {
	s := &sockets{closing: make(chan struct{})}
	s.life, s.cut = context.WithCancel(context.Background())
	return s
}

// enter counts a connection, unless there are too many.
func (s *sockets) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.count >= maxSockets {
		return false
	}
	s.count++
	s.ended.Add(1)
	return true
}

func (s *sockets) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	s.ended.Done()
}

// Close ends the WebSocket connections: each with a close frame when its requests are answered, and
// the rest without one when ctx ends. It does not wait for HTTP requests, which belong to the HTTP
// server.
func (s *Server) Close(ctx context.Context) {
	k := s.sockets
	k.mu.Lock()
	if !k.closed {
		close(k.closing)
	}
	k.closed = true
	k.mu.Unlock()
	defer context.AfterFunc(ctx, k.cut)()
	k.ended.Wait()
}

// root answers GET /, over WebSocket where the client asks for that.
func (s *Server) root(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		welcome(w, r)
		return
	}
	if !s.sockets.enter() {
		s.refuse(w, answer.ErrTooBusy)
		return
	}
	defer s.sockets.leave()
	// parts/guard, before this handler, decides which pages may connect.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxBody)
	// The request's context does not end with a hijacked connection.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer context.AfterFunc(s.sockets.life, cancel)()
	places := make(chan struct{}, maxConcurrent)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		select {
		case <-s.sockets.closing:
		case <-ctx.Done():
			return
		}
		for range maxConcurrent { // wait for all answers, and let none begin
			places <- struct{}{}
		}
		_ = conn.Close(websocket.StatusGoingAway, "the server stops")
		cancel()
	})
	s.converse(ctx, conn, places, &work)
}

func (s *Server) converse(ctx context.Context, conn *websocket.Conn, places chan struct{}, work *sync.WaitGroup) {
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		work.Go(func() {
			defer func() { <-places }()
			answer := s.respond(ctx, message)
			limited, cancel := context.WithTimeout(ctx, writeTimeout)
			defer cancel()
			_ = conn.Write(limited, websocket.MessageText, answer) // an error ends the connection, and so the read loop
		})
	}
}

// respond answers a message, in rippled's envelope of WebSocket.
func (s *Server) respond(ctx context.Context, message []byte) []byte {
	c := &call{version: 1}
	if json.Unmarshal(message, &c.params) != nil || c.params == nil {
		return []byte(`{"error":"jsonInvalid","status":"error","type":"error","value":"want a JSON object"}`)
	}
	c.id = c.params["id"]
	err := c.parseCommand()
	if err == nil {
		var result []byte
		if result, err = s.do(ctx, c); err == nil {
			rest := c.envelope(map[string]any{"status": "success"})
			return slices.Concat([]byte(`{"result":`), result, []byte(","), rest[1:])
		}
		err = s.fault(c, err)
	}
	var f *answer.Error
	if !errors.As(err, &f) {
		return c.envelope(map[string]any{"error": err.Error(), "request": c.echo(), "status": "error"})
	}
	answer := f.Members()
	answer["request"], answer["status"] = c.echo(), "error"
	return c.envelope(answer)
}

// parseCommand reads a message's method. Its errors are rippled's tokens.
func (c *call) parseCommand() error {
	name, ok := c.params.text("command")
	if !ok && !c.params.has("command") {
		name, ok = c.params.text("method")
	}
	if c.method = name; !ok || name == "" {
		return errors.New("missingCommand")
	}
	return c.parseVersion()
}

// envelope adds to an answer the fields that identify its request.
func (c *call) envelope(answer map[string]any) []byte {
	answer["type"] = "response"
	for _, name := range []string{"id", "api_version"} {
		if c.params.has(name) {
			answer[name] = c.params[name]
		}
	}
	return encode(answer)
}

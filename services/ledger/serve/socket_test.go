package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// dialed is a WebSocket to a server, and a function that ends the server's side.
func dialed(t testing.TB, s *Server) (conn *websocket.Conn, end func()) {
	t.Helper()
	front := httptest.NewServer(s)
	conn, _, err := websocket.Dial(t.Context(), front.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(16 << 20)
	end = func() {
		conn.CloseNow()
		s.Close(t.Context())
		front.Close()
	}
	return conn, end
}

// said sends a message and returns the answer.
func said(t testing.TB, conn *websocket.Conn, message string) string {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
	_, answer, err := conn.Read(t.Context())
	if err != nil {
		t.Fatalf("%.80s: %v", message, err)
	}
	return string(answer)
}

// A WebSocket message gets the same result as a POST, in rippled's other envelope.
func TestSocketEnvelope(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 5, 6)...)})
	conn, end := dialed(t, s)
	defer end()
	for _, c := range []struct{ message, want string }{
		{`{"command":"ping"}`, `{"result":{"status":"success"},"status":"success","type":"response"}`},
		{`{"method":"ping","id":"a"}`, `{"result":{"status":"success"},"id":"a","status":"success","type":"response"}`},
		{`{"command":"ping","api_version":2,"id":7}`, `{"result":{"status":"success"},"api_version":2,"id":7,"status":"success","type":"response"}`},
		{`{"command":"none","secret":"x","id":1}`, `{"error":"unknownCmd","error_code":32,"error_message":"Unknown method.","id":1,"request":{"command":"none","id":1,"secret":"\u003cmasked\u003e"},"status":"error","type":"response"}`},
		{`{"id":1}`, `{"error":"missingCommand","id":1,"request":{"id":1},"status":"error","type":"response"}`},
		{`{"command":7}`, `{"error":"missingCommand","request":{"command":7},"status":"error","type":"response"}`},
		{`{"command":"ping","api_version":9}`, `{"api_version":9,"error":"invalid_API_version","request":{"api_version":9,"command":"ping"},"status":"error","type":"response"}`},
		{`[]`, `{"error":"jsonInvalid","status":"error","type":"error","value":"want a JSON object"}`},
		{`null`, `{"error":"jsonInvalid","status":"error","type":"error","value":"want a JSON object"}`},
		{``, `{"error":"jsonInvalid","status":"error","type":"error","value":"want a JSON object"}`},
	} {
		if got := said(t, conn, c.message); got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.message, got, c.want)
		}
	}
	for _, params := range []string{`"ledger_index":5,"transactions":true,"expand":true`, `"ledger_index":6,"transactions":true,"expand":true,"binary":true`} {
		_, want := post(t, s, `{"method":"ledger","params":[{`+params+`}]}`)
		want = strings.TrimSuffix(want, "}") + `,"status":"success","type":"response"}`
		if got := said(t, conn, `{"command":"ledger",`+params+`}`); got != want {
			t.Errorf("%s: got %.300s\nwant %.300s", params, got, want)
		}
	}
}

// More requests than are answered concurrently are all answered, and a message that is too long
// ends the connection.
func TestSocketBounds(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 5, 6)...), Reads: 1, Hot: 1})
	conn, end := dialed(t, s)
	defer end()
	const requests = 5 * maxConcurrent
	for id := range requests {
		if err := conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, `{"id":%d,"command":"ledger","ledger_index":5}`, id)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for range requests {
		_, answer, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(string(answer), `"id":`)
		seen[id] = true
	}
	if len(seen) != requests {
		t.Errorf("%d of %d requests are answered", len(seen), requests)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"command":"`+strings.Repeat("x", maxBody)+`"}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("a message of more than %d bytes: %v", maxBody, err)
	}
}

// Close answers pending requests, sends a close frame, and refuses new connections.
func TestSocketEndsWithTheServer(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 5, 6)...)})
	conn, end := dialed(t, s)
	defer end()
	said(t, conn, `{"command":"ping"}`)
	ended := make(chan struct{})
	go func() { defer close(ended); s.Close(t.Context()) }()
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the end: %v", err)
	}
	<-ended
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Upgrade", "websocket")
	if s.ServeHTTP(w, r); w.Code != 503 {
		t.Errorf("after the end: %d", w.Code)
	}
}

// Close does not wait longer than its context for a client that never closes.
func TestSocketOfNoAnswer(t *testing.T) {
	s := warmed(t, Config{Store: filled(t, chain(t, 5, 6)...)})
	conn, end := dialed(t, s)
	defer end()
	said(t, conn, `{"command":"ping"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Close(ctx) // the client reads nothing
}

func FuzzMessage(f *testing.F) {
	f.Add(`{"command":"ledger","ledger_index":"validated","id":[1],"api_version":2}`)
	f.Add(`{"method":"tx","transaction":"00","seed":1}`)
	s := warmed(f, Config{Store: filled(f, chain(f, 99, 101)...), Hot: 1})
	f.Fuzz(func(t *testing.T, message string) {
		answer := string(s.respond(t.Context(), []byte(message)))
		if !strings.Contains(answer, `"status":"`) || strings.Contains(answer, `"error":"internal"`) || !json.Valid([]byte(answer)) {
			t.Fatalf("%q: %q", message, answer)
		}
	})
}

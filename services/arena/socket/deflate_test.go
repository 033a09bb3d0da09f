package socket

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A client that offers permessage-deflate receives what was sent.
func TestDeflated(t *testing.T) {
	want := bytes.Repeat([]byte("state "), 500)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Deflated(w, r, Options{})
		if err != nil {
			return
		}
		defer s.CloseNow()
		got, err := s.Read()
		if err != nil {
			return
		}
		frame := Append(nil, nil, got)
		for range 3 {
			if s.Write(frame, []int{len(frame)}, time.Minute) != nil {
				return
			}
		}
		s.Close(Normal, "")
	}))
	defer server.Close()
	conn, resp, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if got := resp.Header.Get("Sec-WebSocket-Extensions"); !strings.Contains(got, "permessage-deflate") {
		t.Errorf("the server agreed to %q", got)
	}
	if err := conn.Write(t.Context(), websocket.MessageBinary, want); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, got, err := conn.Read(t.Context())
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

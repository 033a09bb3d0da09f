//go:build linux

package notify

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"dyno/parts/httploop/headersets"
)

// What real proxies and clients send stays on the event loop, with a traceparent and without, and
// also when it is followed by more on the same connection.
func TestFrontServesRecordedHeaders(t *testing.T) {
	sets, err := headersets.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	s := newFronted(t, "loop", nil)
	sent := uint64(0)
	for _, set := range sets {
		if len(set.Post) == 0 {
			continue
		}
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		for _, fields := range []headersets.Fields{set.Post, set.Post.With(headersets.Traceparent), set.Post} {
			io.WriteString(conn, fields.Request("POST", "/v1/notices", "127.0.0.1", "token", `{"key":"k","type":"t"}`))
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != http.StatusAccepted {
				t.Fatalf("%s: %v %v", set.Name(), resp, err)
			}
			io.Copy(io.Discard, resp.Body)
			sent++
			if n := s.front.Stats().Requests; n != sent {
				t.Errorf("%s: net/http serves it: %v", set.Name(), s.front.HandedOver())
				sent = n
			}
		}
		conn.Close()
	}
	if got := s.front.HandedOver(); len(got) > 0 {
		t.Errorf("handed over: %v", got)
	}
}

package jsonrpc_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"dyno/parts/httploop/headersets"
	"dyno/services/chain/jsonrpc"
)

// What real proxies and clients send stays on the event loop, with a traceparent and without, and
// also when it is followed by more on the same connection.
func TestFrontServesRecordedHeaders(t *testing.T) {
	sets, err := headersets.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	f, url := serveFront(t, methods(), jsonrpc.Options{})
	sent := uint64(0)
	for _, set := range sets {
		if len(set.Post) == 0 {
			continue
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		for _, fields := range []headersets.Fields{set.Post, set.Post.With(headersets.Traceparent), set.Post} {
			io.WriteString(conn, fields.Request("POST", "/", "127.0.0.1", "token", talks[0].message))
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s: %v", set.Name(), err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || string(body) != talks[0].answer {
				t.Errorf("%s: %d %s %v", set.Name(), resp.StatusCode, body, err)
			}
			sent++
			if n := f.Stats().Requests; n != sent {
				t.Errorf("%s: net/http serves it: %v", set.Name(), f.HandedOver())
				sent = n
			}
		}
		conn.Close()
	}
	if got := f.HandedOver(); len(got) > 0 {
		t.Errorf("handed over: %v", got)
	}
}

// What is not the front's is handed over, each by its reason.
func TestFrontReasons(t *testing.T) {
	f, url := serveFront(t, methods(), jsonrpc.Options{})
	const json = "Content-Type: application/json\r\n"
	for _, tt := range []struct {
		head, body, reason string
		status             int
	}{
		{"POST / HTTP/1.1\r\n" + json, talks[0].message, "", 200},
		{"POST /?key=1 HTTP/1.1\r\n" + json + "content-encoding: identity\r\n", talks[0].message, "", 200},
		{"POST /rpc HTTP/1.1\r\n" + json, talks[0].message, "path", 200},
		{"GET / HTTP/1.1\r\n", "", "method", 405},
		{"OPTIONS / HTTP/1.1\r\n", "", "method", 405},
		{"POST / HTTP/1.1\r\n" + json + "Origin: http://evil.example\r\n", talks[0].message, "Origin", 403},
		{"POST / HTTP/1.1\r\n" + json + "Sec-Fetch-Site: cross-site\r\n", talks[0].message, "Sec-Fetch-Site", 403},
		{"POST / HTTP/1.1\r\n" + json + "Cookie: a=b\r\n", talks[0].message, "", 200},
		{"POST / HTTP/1.1\r\n" + json + "TE: trailers\r\n", talks[0].message, "", 200},
		{"POST / HTTP/1.1\r\n" + json + "Content-Encoding: gzip\r\n", talks[0].message, "Content-Encoding", 415},
		{"POST / HTTP/1.1\r\nContent-Type: text/plain\r\n", talks[0].message, "Content-Type", 415},
		{"POST / HTTP/1.1\r\n" + json + "Expect: more\r\n", talks[0].message, "Expect", 417},
		{"POST / HTTP/1.1\r\n" + json + "Upgrade: websocket\r\n", talks[0].message, "Upgrade", 426},
		{"POST / HTTP/1.1\r\n" + json, strings.Repeat(" ", 70_000) + talks[0].message, "body", 200},
		{"POST / HTTP/1.1\r\n" + json + "Transfer-Encoding: chunked\r\n", strings.Repeat(" ", 70_000) + talks[0].message, "body", 200},
	} {
		before := f.HandedOver()
		var fields headersets.Fields
		first, rest, _ := strings.Cut(tt.head, "\r\n")
		for line := range strings.SplitSeq(strings.TrimSuffix(rest, "\r\n"), "\r\n") {
			if line != "" {
				fields = append(fields, line)
			}
		}
		part := strings.Fields(first)
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, fields.Request(part[0], part[1], "127.0.0.1", "", tt.body))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(tt.head, err)
		}
		conn.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%q: %d, want %d", tt.head, resp.StatusCode, tt.status)
		}
		got := ""
		for reason, n := range f.HandedOver() {
			if n != before[reason] {
				got += reason
			}
		}
		if got != tt.reason {
			t.Errorf("%q: handed over because of %q, want %q", tt.head, got, tt.reason)
		}
	}
}

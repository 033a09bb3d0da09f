// Package guardtest checks an address against cross-site requests: it sends what pages of other
// sites would send through a user's browser, and checks that non-browser clients and the address's
// own pages still pass. It only uses HTTP, so it can test every listener of every service. It is
// for tests only and starts no goroutines.
package guardtest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Refuses sends a request in all the ways that must be refused and in all that must pass. Without a
// browser's headers the request must not be refused. It is sent many times and should change
// nothing.
func Refuses(t testing.TB, client *http.Client, method, address, body string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	own, port := "http://"+u.Host, u.Port()
	for _, c := range []struct {
		what   string
		header []string
		host   string
		status int // 0 means that it passes
	}{
		{"a client that is no page", nil, "", 0},
		{"what curl -d sends", []string{"Content-Type", "application/x-www-form-urlencoded"}, "", 0},
		{"localhost", nil, "localhost:" + port, 0},
		{"an IPv6 address", nil, "[::1]:" + port, 0},
		{"a probe by another IP address", nil, "10.1.2.3:" + port, 0},
		{"its own page", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, "", 0},
		{"its own page in an older browser", []string{"Origin", own}, "", 0},
		{"an address that was typed", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Dest", "document"}, "", 0},

		{"a name that DNS was made to point here", nil, "evil.example", 421},
		{"such a name with the port", nil, "evil.example:" + port, 421},
		{"such a name's own page", []string{"Origin", "http://evil.example:" + port, "Sec-Fetch-Site", "same-origin"}, "evil.example:" + port, 421},
		{"a name that begins like an address", nil, u.Hostname() + ".evil.example", 421},
		{"a no-cors text/plain request", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"}, "", 403},
		{"an older browser", []string{"Origin", "http://evil.example", "Content-Type", "text/plain"}, "", 403},
		{"a page of another port", []string{"Origin", "http://" + u.Hostname() + ":1"}, "", 403},
		{"a page without an origin", []string{"Origin", "null"}, "", 403},
		{"a sandboxed page", []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, "", 403},
		{"a page of the same site", []string{"Sec-Fetch-Site", "same-site"}, "", 403},
		{"an image", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "image", "Sec-Fetch-Mode", "no-cors"}, "", 403},
		{"a frame", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe", "Sec-Fetch-Mode", "navigate"}, "", 403},
		{"an EventSource", []string{"Origin", "https://evil.example", "Accept", "text/event-stream"}, "", 403},
		{"a WebSocket", []string{"Origin", "https://evil.example", "Connection", "Upgrade", "Upgrade", "websocket",
			"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}, "", 403},
	} {
		status, header, text := send(t, client, method, address, body, c.host, c.header)
		switch refused := status == 403 || status == 421; {
		case c.status == 0 && refused:
			t.Errorf("%s %s: %s is refused: %d %s", method, address, c.what, status, text)
		case c.status != 0 && status != c.status:
			t.Errorf("%s %s: %s gets %d %s, want %d", method, address, c.what, status, text, c.status)
		case c.status != 0 && (!strings.HasPrefix(header.Get("Content-Type"), "application/json") || !strings.Contains(text, `"error":"`)):
			t.Errorf("%s %s: %s is refused without JSON: %v %s", method, address, c.what, header, text)
		case header.Get("Access-Control-Allow-Origin") != "":
			t.Errorf("%s %s: %s may read the answer: %v", method, address, c.what, header)
		}
	}
	status, header, _ := send(t, client, http.MethodOptions, address, "", "", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", method})
	if status < 300 || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS %s: a page of another site gets a permission: %d %v", address, status, header)
	}
}

// Allows checks that pages of a listed origin may send a request and read the response.
func Allows(t testing.TB, client *http.Client, method, address, body, origin string) {
	t.Helper()
	from := []string{"Origin", origin, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}
	status, header, text := send(t, client, http.MethodOptions, address, "", "", append(from, "Access-Control-Request-Method", method,
		"Access-Control-Request-Headers", "authorization,content-type,idempotency-key,last-event-id"))
	allowed := strings.ToLower(header.Get("Access-Control-Allow-Headers"))
	if status != 204 || header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(header.Get("Access-Control-Allow-Methods"), method) {
		t.Errorf("OPTIONS %s: %d %v %s", address, status, header, text)
	}
	for _, name := range []string{"authorization", "content-type", "idempotency-key", "last-event-id"} {
		if !strings.Contains(allowed, name) {
			t.Errorf("OPTIONS %s: %s is not among the headers allowed: %q", address, name, allowed)
		}
	}
	for _, from := range [][]string{from, nil} {
		status, header, text = send(t, client, method, address, body, "", from)
		if status == 403 || status == 421 || !strings.Contains(strings.Join(header["Vary"], ", "), "Origin") {
			t.Errorf("%s %s from %q: %d %v %s", method, address, from, status, header, text)
		}
		if got := header["Access-Control-Allow-Origin"]; from != nil && (len(got) != 1 || got[0] != origin) || from == nil && got != nil {
			t.Errorf("%s %s from %q: Access-Control-Allow-Origin is %q", method, address, from, got)
		}
	}
}

// send sends a request and returns the response's status and header, and the body of a refusal.
func send(t testing.TB, client *http.Client, method, address, body, host string, header []string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s, %q: %v", method, address, header, err)
	}
	defer answer.Body.Close()
	text := make([]byte, 4<<10)
	n, _ := answer.Body.Read(text) // a stream does not end
	return answer.StatusCode, answer.Header, string(text[:n])
}

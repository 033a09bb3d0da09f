package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dyno/parts/hostport"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// answered is a transport whose receiver answers 503 with a Retry-After.
type answered string

func (a answered) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {string(a)}}, Body: http.NoBody, Request: r}, nil
}

func TestRetryAfter(t *testing.T) {
	target := newTestTarget(t, testURL)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second, "3601": time.Hour, "36893488147419103232": time.Hour, "Sun, 01 Mar 2099 12:00:00 GMT": time.Hour, "soon": 0,
	} {
		s, err := NewSender(Options{Client: "default", Encoding: "attempt", Timeout: time.Minute, Transport: answered(value)})
		if err != nil {
			t.Fatal(err)
		}
		if o := s.Send(t.Context(), "", newTestWebhook(target, s.encode, 1)); o.RetryAfter != want || o.Status != http.StatusServiceUnavailable {
			t.Errorf("%q: %+v, want %v", value, o, want)
		}
	}
}

const testURL = "http://example.com:8080/hook?a=b"

func newTestTarget(t testing.TB, url string) *Target {
	key, err := ParseSecret(NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewTarget(url, []subscription.Secret{{Key: key}})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func newTestWebhook(target *Target, e encoder, n int) *Webhook {
	w := &Webhook{Target: target}
	for i := range n {
		one := &notice.Notice{ID: fmt.Sprintf("n-%d", i), Key: "k\"<", Type: "t", Payload: []byte(`{"a" : "<b>"}`)}
		e.prepare(one)
		w.Notices = append(w.Notices, one)
	}
	return w
}

// Both encodings make the same request, through reuse, and the Standard Webhooks library accepts
// it.
func TestEncodingsAgree(t *testing.T) {
	target := newTestTarget(t, testURL)
	fast := prepared{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "notices")
		now := time.Now().Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "seconds")) * time.Second)
		again := rapid.Bool().Draw(t, "again")
		want := readRequest(t, perAttempt{}, newTestWebhook(target, perAttempt{}, n), now, again)
		got := readRequest(t, fast, newTestWebhook(target, fast, n), now, again)
		if want != got {
			t.Fatalf("requests differ: %s and %s", want, got)
		}
	})
}

// readRequest makes a request, verifies and reads it as a transport does (again, after a connection
// that was found closed).
func readRequest(t *rapid.T, e encoder, w *Webhook, now time.Time, again bool) (text string) {
	req, err := e.request(context.Background(), w, now)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	if req.ContentLength != int64(len(body)) {
		t.Fatalf("Content-Length %d of %d bytes", req.ContentLength, len(body))
	}
	if again {
		second, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(second); err != nil || string(text) != string(body) {
			t.Fatalf("read again: %q, not %q", text, body)
		}
	}
	if err := w.Target.keys.keys[0].webhook.Verify(body, req.Header); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(req.Header))
	text = req.Method + " " + req.URL.String() + " " + req.Host + "\n"
	for _, k := range keys {
		text += k + ": " + strings.Join(req.Header[k], "|") + "\n"
	}
	return text + string(body)
}

// Whatever address is stored, what is sent for it is a request whose line and Host are valid, or
// nothing is sent, with a reason.
func TestWhatIsSent(t *testing.T) {
	lines := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines <- r.RequestURI + " " + r.Host
	}))
	defer receiver.Close()
	origin, host := receiver.URL, strings.TrimPrefix(receiver.URL, "http://")
	for name := range newClients {
		s, err := NewSender(Options{Client: name, Encoding: "prepared", Timeout: time.Minute, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		for address, want := range map[string]string{
			origin:                        "/ " + host,
			origin + "/new orders?for=|é": "/new%20orders?for=%7C%C3%A9 " + host,
			origin + "/a?b c#part":        "/a?b%20c " + host, // an earlier version kept it
			origin + `/a\b?c\d`:           "/a%5Cb?c%5Cd " + host,
		} {
			if o := s.Send(t.Context(), "", newTestWebhook(newTestTarget(t, address), s.encode, 1)); o.Status != http.StatusOK {
				t.Fatalf("%s: %s: %+v", name, address, o)
			}
			if got := <-lines; got != want {
				t.Errorf("%s: %s: %q, want %q", name, address, got, want)
			}
		}
		for _, address := range []string{origin + "/?half=50%", "http://a\"b/", "http://[fe80::1%25lo]/"} {
			if o := s.Send(t.Context(), "", newTestWebhook(newTestTarget(t, address), s.encode, 1)); o.Status != 0 || !strings.Contains(o.Err, "the url of the subscription is wrong: ") {
				t.Errorf("%s: %s: %+v", name, address, o)
			}
		}
		s.Close()
	}
}

// A small webhook leaves in one write: net/http would send the headers first, in a packet of their
// own, if it did not know the body's type.
func TestWebhookIsOneWrite(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	target := newTestTarget(t, receiver.URL)
	for name, newEncoder := range newEncoders {
		var writes atomic.Int64
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return countingConn{conn, &writes}, err
		}}
		const webhooks = 3
		e := newEncoder()
		for range webhooks {
			req, err := e.request(context.Background(), newTestWebhook(target, e, 2), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Client{Transport: transport}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		transport.CloseIdleConnections()
		if n := writes.Load(); n != webhooks {
			t.Errorf("%s: %d webhooks took %d writes", name, webhooks, n)
		}
	}
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A prepared notice holds its payload once, and unchanged.
func TestPreparedSharesThePayload(t *testing.T) {
	n := &notice.Notice{ID: "1", Key: "k\"", Type: "t", Payload: []byte(`{"a" : "<b>"}`)}
	size := n.Size()
	prepared{}.prepare(n)
	if string(n.Payload) != `{"a" : "<b>"}` || n.Size() != size || &n.Payload[0] != &n.Body[len(n.Body)-2-len(n.Payload)] {
		t.Errorf("payload %q of %q", n.Payload, n.Body)
	}
}

// The prepared encoding is there to allocate less; it was 36 and 7 when
// this was written, a few more under the race detector, which empties pools.
func TestEncodingAllocations(t *testing.T) {
	target := newTestTarget(t, testURL)
	for name, most := range map[string]float64{"attempt": 60, "prepared": 16} {
		e := newEncoders[name]()
		w := newTestWebhook(target, e, 1)
		now := time.Now()
		got := testing.AllocsPerRun(200, func() {
			req, err := e.request(context.Background(), w, now)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, req.Body)
		})
		if got > most {
			t.Errorf("%s: %v allocations for a request, more than %v", name, got, most)
		}
		t.Logf("%s: %v allocations", name, got)
	}
}

// The same content has the same id, and other content another one, whatever the boundaries of its
// ids.
func TestMessageID(t *testing.T) {
	id := func(ids ...string) string {
		var notices []*notice.Notice
		for _, id := range ids {
			notices = append(notices, &notice.Notice{ID: id})
		}
		return messageID(notices)
	}
	if first, again := id("a", "b"), id("a", "b"); id("a") != "a" || first != again {
		t.Error("ids are not stable")
	}
	seen := map[string]bool{}
	for _, got := range []string{id("a", "b"), id("b", "a"), id("ab", ""), id("a", "b", "c"), id("a", "bc")} {
		if seen[got] {
			t.Errorf("%s stands for two contents", got)
		}
		seen[got] = true
	}
}

func BenchmarkEncoding(b *testing.B) {
	target := newTestTarget(b, testURL)
	for _, name := range []string{"attempt", "prepared"} {
		b.Run(name, func(b *testing.B) {
			e := newEncoders[name]()
			w := newTestWebhook(target, e, 1)
			now := time.Now()
			b.ReportAllocs()
			for b.Loop() {
				req, err := e.request(context.Background(), w, now)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, req.Body)
			}
		})
	}
}

// Each error of an attempt has its class, and the class shows no other part of the error.
func TestReasons(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://internal.example/hook?token=secret", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 80}, Err: err}}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(hostport.PublicOnly("tcp", "10.1.2.3:80", nil)), "address not allowed: it is not public"},
		{dial(&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}), "connection refused"},
		{dial(&os.SyscallError{Syscall: "connect", Err: syscall.EHOSTUNREACH}), "receiver not reachable"},
		{dial(&os.SyscallError{Syscall: "connect", Err: syscall.ENETUNREACH}), "receiver not reachable"},
		{dial(&os.SyscallError{Syscall: "read", Err: syscall.ECONNRESET}), "connection closed before the answer"},
		{dial(&net.DNSError{Err: "no such host", Name: "internal.example", Server: "10.0.0.2:53", IsNotFound: true}), "name does not resolve"},
		{dial(&net.DNSError{Err: "server misbehaving", Name: "internal.example", Server: "10.0.0.2:53"}), "name lookup failed"},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "internal.example", Server: "10.0.0.2:53", IsTimeout: true}), "no answer in time"},
		{dial(os.ErrDeadlineExceeded), "no answer in time"},
		{dial(context.DeadlineExceeded), "no answer in time"},
		{&url.Error{Op: "Post", Err: io.EOF}, "connection closed before the answer"},
		{&url.Error{Op: "Post", Err: io.ErrUnexpectedEOF}, "connection closed before the answer"},
		{&url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"db.internal"}}, Host: "internal.example"}}}, "certificate not accepted"},
		{&url.Error{Op: "Post", Err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}}, "TLS handshake failed"},
		{&url.Error{Op: "Post", Err: errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH at 10.1.2.3"`)}, "no HTTP answer"},
	} {
		if got := reason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

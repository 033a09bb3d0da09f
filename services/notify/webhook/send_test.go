package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
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
		s, err := NewSender(Options{Client: "default", Timeout: time.Minute, Transport: answered(value)})
		if err != nil {
			t.Fatal(err)
		}
		if o := s.Send(t.Context(), "", newTestWebhook(target, 1)); o.RetryAfter != want || o.Status != http.StatusServiceUnavailable {
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

func newTestWebhook(target *Target, n int) *Webhook {
	w := &Webhook{Target: target}
	for i := range n {
		w.Notices = append(w.Notices, &notice.Notice{ID: fmt.Sprintf("n-%d", i), Key: "k\"<", Type: "t", Payload: []byte(`{"a" : "<b>"}`)})
	}
	return w
}

// The Standard Webhooks library accepts a request, and it can be sent again after a connection that
// was found closed.
func TestRequest(t *testing.T) {
	target := newTestTarget(t, testURL)
	rapid.Check(t, func(t *rapid.T) {
		w := newTestWebhook(target, rapid.IntRange(1, 5).Draw(t, "notices"))
		now := time.Now().Add(time.Duration(rapid.IntRange(-100, 100).Draw(t, "seconds")) * time.Second)
		req, err := w.request(context.Background(), now)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		if req.ContentLength != int64(len(body)) || req.URL.String() != testURL || req.Method != http.MethodPost {
			t.Fatalf("%s %s, Content-Length %d of %d bytes", req.Method, req.URL, req.ContentLength, len(body))
		}
		second, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(second); err != nil || string(text) != string(body) {
			t.Fatalf("read again: %q, not %q", text, body)
		}
		if err := target.keys.keys[0].webhook.Verify(body, req.Header); err != nil {
			t.Fatal(err)
		}
		if at := req.Header.Get("webhook-timestamp"); at != strconv.FormatInt(now.Unix(), 10) {
			t.Fatalf("timestamp %s, want %d", at, now.Unix())
		}
	})
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
		s, err := NewSender(Options{Client: name, Timeout: time.Minute, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		for address, want := range map[string]string{
			origin:                        "/ " + host,
			origin + "/new orders?for=|é": "/new%20orders?for=%7C%C3%A9 " + host,
			origin + "/a?b c#part":        "/a?b%20c " + host, // an earlier version kept it
			origin + `/a\b?c\d`:           "/a%5Cb?c%5Cd " + host,
		} {
			if o := s.Send(t.Context(), "", newTestWebhook(newTestTarget(t, address), 1)); o.Status != http.StatusOK {
				t.Fatalf("%s: %s: %+v", name, address, o)
			}
			if got := <-lines; got != want {
				t.Errorf("%s: %s: %q, want %q", name, address, got, want)
			}
		}
		for _, address := range []string{origin + "/?half=50%", "http://a\"b/", "http://[fe80::1%25lo]/"} {
			if o := s.Send(t.Context(), "", newTestWebhook(newTestTarget(t, address), 1)); o.Status != 0 || !strings.Contains(o.Err, "the url of the subscription is wrong: ") {
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
	var writes atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countingConn{conn, &writes}, err
	}}
	const webhooks = 3
	for range webhooks {
		req, err := newTestWebhook(target, 2).request(context.Background(), time.Now())
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
		t.Errorf("%d webhooks took %d writes", webhooks, n)
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

package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
)

var (
	hash = strings.Repeat("AB", 32)
	v1   = `{"tx_blob":"12","meta":"20"}`
)

// ofLedger is an answer with a ledger of these transactions.
func ofLedger(transactions string) string {
	return `{"result":{"ledger":{"closed":true,"ledger_data":"` + strings.Repeat("0A", xrpl.HeaderSize) + `","transactions":` + transactions +
		`},"ledger_hash":"` + hash + `","ledger_index":7,"status":"success","validated":true}}`
}

func open(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// serve answers every request with h.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func want(t *testing.T, err error, kind response.Code) *response.Error {
	t.Helper()
	var e *response.Error
	if !errors.As(err, &e) || e.Code != kind {
		t.Fatalf("got %v, want %v", err, kind)
	}
	return e
}

// Each failure over HTTP has a Code.
func TestHTTPErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		h     http.HandlerFunc
		kind  response.Code
		after time.Duration
	}{
		{"503 with text", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "Server is overloaded", http.StatusServiceUnavailable)
		}, response.SlowDown, 7 * time.Second},
		{"503 of Clio", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			io.WriteString(w, `{"error":"slowDown","error_code":10,"status":"error","type":"response"}`)
		}, response.SlowDown, 0},
		{"503 for another reason", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "maintenance", http.StatusServiceUnavailable)
		}, response.Busy, 0},
		{"502 of a proxy", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, response.Busy, 0},
		{"429", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, response.SlowDown, 0},
		{"403", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Forbidden", http.StatusForbidden) }, response.Refused, 0},
		{"404 that says why", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			io.WriteString(w, `{"result":{"error":"lgrNotFound","error_code":21}}`)
		}, response.NotFound, 0},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, response.Refused, 0},
		{"empty", func(http.ResponseWriter, *http.Request) {}, response.Empty, 0},
		{"text", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, response.Malformed, 0},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, ofLedger("[]")[:200])
		}, response.Cut, 0},
		{"large", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", 9000)) }, response.Malformed, 0},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "?")
		}, response.Malformed, 0},
		{"slow", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, response.Timeout, 0},
		{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, response.Gone, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{URL: serve(t, tt.h), MaxBody: 8192, Timeout: time.Minute}
			if tt.kind == response.Timeout {
				c.Timeout = 50 * time.Millisecond
			}
			s := open(t, c)
			var a response.Answer
			e := want(t, s.Ledger(t.Context(), 7, &a), tt.kind)
			if e.RetryAfter != tt.after || e.Server != s.Name() {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// No time-out of net/http is shorter than the configured one.
func TestTimeoutHolds(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: DefaultTimeout, time.Second: DefaultTimeout, time.Minute: time.Minute} {
		s := open(t, Config{URL: "https://127.0.0.1:1", Timeout: set})
		client := s.transport.(*web).client
		of := client.Transport.(*http.Transport)
		if of.TLSHandshakeTimeout != want || of.ResponseHeaderTimeout != 0 || client.Timeout != 0 {
			t.Errorf("%v: %v for the handshake, %v for a header, %v in all", set, of.TLSHandshakeTimeout, of.ResponseHeaderTimeout, client.Timeout)
		}
	}
}

// A cancelled caller gets the context's error, which is no Error of the server.
func TestCallerGivesUp(t *testing.T) {
	s := open(t, Config{URL: serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := s.Ledger(ctx, 7, new(response.Answer)); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// Requests contain what the caller wants, and either decoder reads the answers.
func TestAsks(t *testing.T) {
	var got string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		question, _ := io.ReadAll(r.Body)
		got = string(question) + r.Header.Get("Accept-Encoding")
		if strings.Contains(got, "server_info") {
			fmt.Fprintf(w, `{"result":{"info":{"complete_ledgers":"5-7,9","server_state":"full","validated_ledger":{"hash":"%s","seq":9}}}}`, hash)
			return
		}
		io.WriteString(w, ofLedger("["+v1+"]"))
	})
	for name := range response.Decoders() {
		s := open(t, Config{URL: url, Decoder: name})
		var a response.Answer
		if err := s.Ledger(t.Context(), 7, &a); err != nil || len(a.Transactions) != 1 {
			t.Fatal(err, a)
		}
		if want := `{"method":"ledger","params":[{"ledger_index":7,"binary":true,"transactions":true,"expand":true}]}identity`; got != want {
			t.Errorf("asked %s", got)
		}
		if err := s.Header(t.Context(), 7, &a); err != nil || a.Index != 7 || strings.Contains(got, "transactions") {
			t.Error(err, got)
		}
		byHash, err := xrpl.ParseHash(hash)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"method":"ledger","params":[{"ledger_hash":"` + hash + `","binary":true,"transactions":true,"expand":true}]}identity`
		if err := s.LedgerByHash(t.Context(), byHash, &a); err != nil || got != want {
			t.Error(err, got)
		}
		if err := s.HeaderByHash(t.Context(), byHash, &a); err != nil || got != `{"method":"ledger","params":[{"ledger_hash":"`+hash+`","binary":true}]}identity` {
			t.Error(err, got)
		}
		info, err := s.Info(t.Context())
		if err != nil || info.Complete.String() != "5-7,9" || info.Validated.Index != 9 || info.Validated.Hash.String() != hash || !info.Synced {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

// Connections are reused, over HTTP/1.1 and HTTP/2, and the versions are counted.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		h2     bool
		config *tls.Config // nil: without TLS
		want   Link
	}{
		{true, &tls.Config{}, Link{"HTTP/2", "TLS 1.3"}},
		{true, &tls.Config{NextProtos: []string{"http/1.1"}}, Link{"HTTP/1.1", "TLS 1.3"}},
		{false, &tls.Config{MaxVersion: tls.VersionTLS12}, Link{"HTTP/1.1", "TLS 1.2"}},
		{false, nil, Link{"HTTP/1.1", "none"}},
	} {
		t.Run(fmt.Sprint(tt.want), func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, ofLedger("[]")) }))
			server.EnableHTTP2 = tt.h2
			if tt.config == nil {
				server.Start()
			} else {
				tt.config.InsecureSkipVerify = true
				server.StartTLS()
			}
			t.Cleanup(server.Close)
			s := open(t, Config{URL: server.URL, TLS: tt.config})
			for range 9 {
				if err := s.Ledger(t.Context(), 7, new(response.Answer)); err != nil {
					t.Fatal(err)
				}
			}
			if c := s.Counts(); !maps.Equal(c.Connections, map[Link]uint64{tt.want: 1}) || c.Reused != 8 {
				t.Errorf("got %+v", c)
			}
			s.Close()
		})
	}
}

// At most InFlight requests are in flight.
func TestInFlight(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	s := open(t, Config{InFlight: 3, URL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		io.WriteString(w, ofLedger("[]"))
		mu.Lock()
		now--
		mu.Unlock()
	})})
	var asked sync.WaitGroup
	for range 40 {
		asked.Go(func() {
			if err := s.Ledger(context.Background(), 7, new(response.Answer)); err != nil {
				t.Error(err)
			}
		})
	}
	asked.Wait()
	if most > 3 {
		t.Errorf("%d concurrent requests", most)
	}
}

// No secret of a URL is shown: not in names, and not in errors of any origin.
func TestSecrets(t *testing.T) {
	echo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, "no "+r.URL.String()+user+password, http.StatusForbidden)
	})
	for _, base := range []string{echo, "http://127.0.0.1:1", "ws" + strings.TrimPrefix(echo, "http"), "ws://127.0.0.1:1", "http://127.0.0.1:99999", "ftp://127.0.0.1", "http://%zz", "http://host:p", "127.0.0.1:5005", "%zz"} {
		scheme, host, whole := strings.Cut(base, "://")
		if whole {
			scheme += "://"
		} else {
			scheme, host = "", base
		}
		url := scheme + "alice:hunter2@" + host + "/path/0123456789abcdef%21?token=s3cret&k=v4lue"
		s, err := Open(t.Context(), Config{URL: url})
		if err == nil {
			defer s.Close()
			err = s.Ledger(t.Context(), 7, new(response.Answer))
			if want := scheme + host + "/path/***"; s.Name() != want {
				t.Errorf("name is %s", s.Name())
			}
			for _, e := range s.Subscribe(t.Context(), response.Ledgers) {
				err = errors.Join(err, e)
			}
		}
		if err == nil {
			t.Fatalf("%s: no error", base)
		}
		for _, secret := range []string{"alice", "hunter2", "s3cret", "v4lue", "0123456789abcdef"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", base, err)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []Config{{URL: ""}, {URL: "example.org"}, {URL: "ftp://h"}, {URL: "http://h", Decoder: "fast"}, {URL: "http://h", Events: "http://h"}} {
		if _, err := Open(t.Context(), c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

// The error for an invalid URL suggests the URL that may be meant.
func TestURLs(t *testing.T) {
	const forms = "write it as http://HOST:PORT, https://HOST:PORT, ws://HOST:PORT or wss://HOST:PORT"
	for url, want := range map[string]string{
		"127.0.0.1:5005":     `"127.0.0.1:5005" has no scheme; write http://127.0.0.1:5005 or ws://127.0.0.1:5005`,
		"localhost:5005":     `"localhost:5005" has no scheme; write http://localhost:5005 or ws://localhost:5005`,
		"example.org":        `"example.org" has no scheme; write http://example.org or ws://example.org`,
		"alice:pw@h:1/x?k=v": `"h:1/x" has no scheme; write http://h:1/x or ws://h:1/x`,
		"ftp://127.0.0.1":    `server URL "ftp://127.0.0.1": ` + forms,
		"http://":            `server URL "http://" names no host; ` + forms,
		"":                   "server URL names no host; " + forms,
		"/etc":               "server URL names no host; " + forms,
		"http://h:99999":     "server URL: there is no port 99999; ports are 1 to 65535",
		"ws://h:0":           "server URL: there is no port 0; ports are 1 to 65535",
		"http://%zz":         "server URL: cannot be read; " + forms,
	} {
		if _, err := Open(t.Context(), Config{URL: url}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", url, err, want)
		}
	}
	if _, err := Open(t.Context(), Config{URL: "http://h", Events: "h:1"}); err == nil || err.Error() != `"h:1" has no scheme; write ws://h:1` {
		t.Error(err)
	}
}

func TestServerSaysRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-3": 0, "x": 0, "99999999": maxRetryAfter, "4294967296000000000000": maxRetryAfter, "Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

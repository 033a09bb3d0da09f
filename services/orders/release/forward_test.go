package release

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"dyno/services/orders/web"
)

// everything is a request with all parts that are sent on.
func everything() *web.Request {
	return &web.Request{
		Method: "POST", Path: "/api/v1/a b", Query: "uid=1&x=%2F",
		Authorization: "Bearer a.b.c", Accept: "application/msgpack", AcceptEncoding: "zstd",
		CacheControl: "max-stale", ContentType: "application/json", IfNoneMatch: `"1-1"`, Traceparent: "00-ab-cd-01",
		Body: []byte("body"),
	}
}

// All parts of a request that the gateway reads arrive, below the target's path, and all parts of
// the answer are returned.
func TestForward(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h := r.Header
		got := &web.Request{
			Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/base"), Query: r.URL.RawQuery,
			Authorization: h.Get("Authorization"), Accept: h.Get("Accept"), AcceptEncoding: h.Get("Accept-Encoding"),
			CacheControl: h.Get("Cache-Control"), ContentType: h.Get("Content-Type"), IfNoneMatch: h.Get("If-None-Match"),
			Traceparent: h.Get("Traceparent"), Body: body,
		}
		if !reflect.DeepEqual(got, everything()) {
			t.Errorf("arrived: %+v", got)
		}
		for name, value := range map[string]string{
			"Content-Type": "a/b", "Content-Encoding": "zstd", "Allow": "GET", "WWW-Authenticate": "Bearer", "ETag": `"1-2"`,
			"Retry-After": "3", "Vary": "Accept", "Warning": "110", "Location": "http://elsewhere.invalid/",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
		io.WriteString(w, "answer")
	}))
	defer s.Close()
	r := open(t, Usual(slog.New(slog.DiscardHandler)))
	got, err := forward(t, r, s.URL+"/base/", everything())
	if err != nil {
		t.Fatal(err)
	}
	want := &web.Response{
		Status: 307, ContentType: "a/b", ContentEncoding: "zstd", Allow: "GET", Challenge: "Bearer", ETag: `"1-2"`,
		RetryAfter: 3 * time.Second, Vary: "Accept", Warning: "110", Body: []byte("answer"),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back: %+v", got)
	}
}

func forward(t *testing.T, r *Release, target string, req *web.Request) (*web.Response, error) {
	t.Helper()
	base, err := parseTarget(target)
	if err != nil {
		t.Fatal(err)
	}
	out, err := request(base, req)
	if err != nil {
		t.Fatal(err)
	}
	return r.send(context.Background(), out)
}

// An answer that is too long counts as none, and a request without a listening server was not sent.
func TestForwardFails(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, maxAnswer+len(r.URL.RawQuery)))
	}))
	r := open(t, Usual(slog.New(slog.DiscardHandler)))
	if _, err := forward(t, r, s.URL, &web.Request{Method: "GET", Path: "/"}); err != nil {
		t.Error(err)
	}
	if _, err := forward(t, r, s.URL, &web.Request{Method: "GET", Path: "/", Query: "1"}); err == nil || unsent(err) {
		t.Errorf("a long answer: %v", err)
	}
	s.Close()
	if _, err := forward(t, r, s.URL, &web.Request{Method: "GET", Path: "/"}); err == nil || !unsent(err) {
		t.Errorf("without a listening server: %v", err)
	}
}

// A request that cannot be sent on causes an error before anything is sent, and the error contains
// no secrets.
func TestMalformedRequest(t *testing.T) {
	base, _ := parseTarget("http://127.0.0.1:1")
	for _, change := range []func(*web.Request){
		func(r *web.Request) { r.Authorization = "Bearer secret\r\nX: y" },
		func(r *web.Request) { r.Query = "secret\n" },
		func(r *web.Request) { r.Method = "secret here" },
	} {
		req := everything()
		change(req)
		if _, err := request(base, req); err == nil {
			t.Errorf("%+v was made", req)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for s, want := range map[string]string{
		"http://127.0.0.1:8081": "", "https://[::1]/base": "",
		"": "http://", "127.0.0.1:8081": "", "ftp://a": "http://", "file:///etc/passwd": "http://", "http://": "host", "http://:80": "host", "http://a:0": "65535", "http://a:99999": "65535",
		"http://name:secret@host": "password", "http://a?token=secret": "query", "http://a/#b": "fragment",
		"http://a/%zz": "cannot be read", "http://" + strings.Repeat("a", 3000): "longer",
	} {
		_, err := parseTarget(s)
		if ok := strings.HasPrefix(s, "http") && want == ""; ok != (err == nil) {
			t.Errorf("%q: %v", s, err)
		}
		if err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	f.Add("http://127.0.0.1:8081/base")
	f.Add("https://a:b@c?d#e")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseTarget(s)
		if err != nil {
			return
		}
		out, err := request(u, &web.Request{Method: "GET", Path: "/api/v1/order", Query: "uid=1"})
		if err != nil {
			t.Fatalf("%q is taken, and then: %v", s, err)
		}
		if out.URL.Hostname() != u.Hostname() || out.URL.Port() != u.Port() || out.URL.Scheme != u.Scheme || out.URL.User != nil || !strings.HasSuffix(out.URL.Path, "/api/v1/order") {
			t.Errorf("%q: asks %v", s, out.URL)
		}
	})
}

func token(payload string) string {
	return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

// An account stays on its side when its token is renewed; without a readable token, the header
// decides.
func TestSubject(t *testing.T) {
	for authorization, want := range map[string]string{
		token(`{"sub":"A1","exp":1}`): "A1", token(`{"exp":2,"sub":"A1"}`): "A1",
		token(`{"exp":1}`): "", token(`{"sub":1}`): "", token(`nonsense`): "", "": "", "Bearer": "", "Bearer a.b": "", "Bearer a.%.c": "",
		token(`{"sub":"` + strings.Repeat("a", maxToken) + `"}`): "",
	} {
		if want == "" {
			want = authorization
		}
		if got := subject(authorization); got != want {
			t.Errorf("%.50q: %.50q", authorization, got)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add(token(`{"sub":"A1"}`))
	f.Add("Bearer a.b.c")
	f.Fuzz(func(t *testing.T, authorization string) {
		if got := subject(authorization); got == "" && authorization != "" {
			t.Error("all of those would be on one side")
		}
		if s := side("salt", &web.Request{Authorization: authorization}); s < 0 || s >= 1 {
			t.Error(s)
		}
	})
}

// The accounts' share matches the stage, is the same at each gateway, and grows from stage to
// stage.
func TestSides(t *testing.T) {
	const accounts = 20_000
	counts := make(map[float64]int)
	moved := false
	for i := range accounts {
		req := &web.Request{Account: "A" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String()}
		at := side("a", req)
		moved = moved || at != side("b", req)
		for _, share := range usual.Stages {
			if at < share {
				counts[share]++
			}
		}
	}
	// At most three standard deviations of the binomial distribution.
	if n := counts[0.01]; n < 158 || n > 242 {
		t.Errorf("%d of %d accounts are in 1%%", n, accounts)
	}
	if n := counts[0.15]; n < 2849 || n > 3151 {
		t.Errorf("%d of %d accounts are in 15%%", n, accounts)
	}
	if counts[1] != accounts || !moved {
		t.Errorf("%d of %d accounts are in 100%%; another release chooses others: %v", counts[1], accounts, moved)
	}
}

func TestRetryAfter(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"3": 3 * time.Second, "": 0, "-1": 0, "1.5": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
		"2000000000": 24 * time.Hour, "88888888888888888888888": 24 * time.Hour,
	} {
		if got := retryAfter(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

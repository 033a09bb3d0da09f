package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dyno/parts/guard"
	"dyno/parts/httploop"
	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
	"dyno/services/arena/heartbeat"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual is what a client sends.
var usual = []byte(`{"player_id":"player-123456"}`)

func newHand() hand { return hand{heartbeat.New(heartbeat.Config{MaxPresent: 10})} }

// serve serves heartbeats in an event loop before net/http, until the test ends.
func serve(t testing.TB, h hand) (url string) {
	t.Helper()
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/heartbeat", h)
	check := func(authorization string) error {
		if authorization == "wrong" {
			return errors.New("this needs a token")
		}
		return nil
	}
	f, err := newFront(h, l, g, check, servicetest.Patience, func(err error) { t.Error(err) }, slog.New(slog.DiscardHandler))
	if errors.Is(err, httploop.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	web := lameduck.NewServer(&http.Server{Handler: g.Wrap(mux, nil)}, l)
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience)
		defer cancel()
		for _, one := range []interface{ Drain(context.Context) error }{f, web} {
			if err := one.Drain(ctx); err != nil {
				t.Error(err)
			}
		}
		<-served
	})
	return "http://" + l.Addr().String() + "/api/heartbeat"
}

func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Workers answer as hand does, each request once, and refuse what comes after their end.
func TestWorkers(t *testing.T) {
	p := newWorkers(newHand())
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for _, body := range bodies {
				status, text := record(newHand(), body)
				if got, by := record(p, body); got != status || digits.ReplaceAllString(by, "") != digits.ReplaceAllString(text, "") {
					t.Errorf("%.60q by a worker: %d %s, not %d %s", body, got, by, status, text)
				}
			}
		})
	}
	clients.Wait()
	p.close()
	if status, text := record(p, string(usual)); status != http.StatusServiceUnavailable {
		t.Errorf("after the end: %d %s", status, text)
	}
}

func record(h http.Handler, body string) (status int, text string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/api/heartbeat", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

var digits = regexp.MustCompile(`[0-9]{10,}`)

// bodies are of requests.
var bodies = []string{
	string(usual), ` { "player_id" : 7 } ` + "\r\n\t", `{"player_id":0}`, `{"player_id":-7.5e3}`, `{"player_id":"a\u0064a"}`, `{"player_id":"Zoë"}`,
	`{"Player_ID":"ada"}`, `{"player_id":"ada","player_id":"bob"}`, `{"player_id":"` + strings.Repeat("x", maxID) + `"}`,
	`{"player_id":"` + strings.Repeat("x", maxID+1) + `"}`, `{"player_id":"ada"}` + strings.Repeat(" ", maxBody-19), ``, ` `, `{}`, `{`, `null`,
	`{"player_id":""}`, `{"player_id":07}`, `{"player_id":7.}`, `{"player_id":"ada"`, `{"player_id":"ada",}`, `{"player_id":"ada"}}`,
}

// By hand and in the event loop a request is answered as by arenad, to the text of an error.
func TestAnswers(t *testing.T) {
	url, c := serve(t, newHand()), client(t)
	for _, body := range append(bodies, `{"player_id":"`+strings.Repeat("x", 3*maxBody)+`"}`) {
		status, text := record(newHand().beats, body)
		if got, by := record(newHand(), body); got != status || digits.ReplaceAllString(by, "") != digits.ReplaceAllString(text, "") {
			t.Errorf("%.60q by hand: %d %s, not %d %s", body, got, by, status, text)
		}
		resp, by, err := servicetest.Exchange(c, "POST", url, body, nil)
		if err != nil || resp.StatusCode != status || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%.60q in the loop: %v, %s, not %d", body, err, by, status)
		} else if status < 413 && digits.ReplaceAllString(string(by), "") != digits.ReplaceAllString(text, "") {
			t.Errorf("%.60q in the loop: %s, not %s", body, by, text)
		}
	}
}

// The front hands over what is not a heartbeat of a plain client, and the guard stays before it.
func TestFrontLeaves(t *testing.T) {
	h := newHand()
	url, c := serve(t, h), client(t)
	for _, test := range []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"POST", "", nil, 200},
		{"POST", "", http.Header{"Authorization": {"wrong"}}, 401},
		{"POST", "", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"POST", "", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"PUT", "", nil, 405},
		{"POST", "/more", nil, 404},
		{"POST", "", http.Header{"Expect": {"100-continue"}}, 200},
	} {
		resp, text, err := servicetest.Exchange(c, test.method, url+test.path, `{"player_id":7}`, test.header)
		if err != nil || resp.StatusCode != test.status {
			t.Errorf("%+v: %v, %s", test, err, text)
		}
	}
	if n := h.beats.Present(); n != 1 {
		t.Errorf("%d players", n)
	}
}

// What is read by hand is what arenad reads, and of the same player.
func FuzzScan(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		id, ok := scan(body)
		if !ok {
			return
		}
		h := newHand().beats
		if status, text := record(h, string(body)); status != 200 {
			t.Errorf("%q: %d %s", body, status, text)
		}
		if h.Heard(id); h.Present() != 1 {
			t.Errorf("%q: the player is not %q", body, id)
		}
	})
}

// A way that is not known is refused, with those that are.
func TestUnknownBeat(t *testing.T) {
	s, set := service(), pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.Flags(set)
	if err := set.Parse([]string{"--beat=lop"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("--beat=lop: %v", err)
	}
}

// exchange is a request and a ResponseWriter that cost nothing, so that what is counted is the
// handler's.
type exchange struct {
	body    bytes.Reader
	request http.Request
	header  http.Header
}

func (e *exchange) Header() http.Header         { return e.header }
func (e *exchange) WriteHeader(int)             {}
func (e *exchange) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkBeat is the handlers alone.
func BenchmarkBeat(b *testing.B) {
	pool := newWorkers(newHand())
	defer pool.close()
	for name, h := range map[string]http.Handler{"std": newHand().beats, "hand": newHand(), "workers": pool} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				e := &exchange{header: http.Header{}}
				e.request.Method = "POST"
				for pb.Next() {
					e.body.Reset(usual)
					e.request.Body = io.NopCloser(&e.body)
					h.ServeHTTP(e, &e.request)
				}
			})
		})
	}
}

package agones

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dyno/parts/servicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sidecar stands in for that of Agones: it notes requests, and answers as one that tests set.
type sidecar struct {
	*httptest.Server
	sdk *SDK

	mu      sync.Mutex
	seen    []string // METHOD PATH BODY
	status  int      // 0: 200
	answers map[string]string
}

func start(t *testing.T) *sidecar {
	t.Helper()
	s := &sidecar{answers: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s has the content type %q", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		if s.status != 0 {
			http.Error(w, "it is away", s.status)
			return
		}
		s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+r.URL.EscapedPath()+" "+string(body)))
		io.WriteString(w, cmp.Or(s.answers[r.URL.Path], "{}"))
	}))
	s.sdk = New(s.URL)
	t.Cleanup(func() {
		s.sdk.client.CloseIdleConnections()
		s.Close()
	})
	return s
}

func (s *sidecar) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *sidecar) set(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func TestRequests(t *testing.T) {
	s := start(t)
	ctx := t.Context()
	for want, call := range map[string]func() error{
		`POST /ready {}`:    func() error { return s.sdk.Ready(ctx) },
		`POST /health {}`:   func() error { return s.sdk.Health(ctx) },
		`POST /allocate {}`: func() error { return s.sdk.Allocate(ctx) },
		`POST /shutdown {}`: func() error { return s.sdk.Shutdown(ctx) },
		`PATCH /v1beta1/counters/players {"capacity":"50","count":"12"}`: func() error { return s.sdk.SetCounter(ctx, Counter, 12, 50) },
		`GET /gameserver`: func() error { _, err := s.sdk.GameServer(ctx); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if seen := s.requests(); seen[len(seen)-1] != want {
			t.Errorf("sent %s, want %s", seen[len(seen)-1], want)
		}
	}
	s.set(http.StatusNotFound)
	if err := s.sdk.Ready(ctx); err == nil || !strings.Contains(err.Error(), "POST /ready is answered 404 Not Found: it is away") {
		t.Errorf("a refusal: %v", err)
	}
}

const gameServer = `{"object_meta":{"name":"arenad-x7","generation":"1"},"status":{"state":"Ready","address":"10.0.0.7","ports":[{"name":"game","port":7123}]}}`

func TestGameServer(t *testing.T) {
	s := start(t)
	s.answers["/gameserver"] = gameServer
	g, err := s.sdk.GameServer(t.Context())
	if err != nil || g.Meta.Name != "arenad-x7" || g.Status.State != "Ready" {
		t.Fatalf("%+v, %v", g, err)
	}
	if url, err := g.URL(); err != nil || url != "http://10.0.0.7:7123" {
		t.Errorf("%s, %v", url, err)
	}
	if _, err := (GameServer{}).URL(); err == nil {
		t.Error("a server without an address has a URL")
	}
}

func TestPort(t *testing.T) {
	t.Setenv(Variable, "")
	if s := New(""); s.base != "http://localhost:9358" {
		t.Error(s.base)
	}
	t.Setenv(Variable, "1234")
	if s := New(""); s.base != "http://localhost:1234" {
		t.Error(s.base)
	}
}

// server is a game server with players.
type server struct {
	mu      sync.Mutex
	players int
}

func (s *server) set(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.players = n
}

func (s *server) Players() (count, capacity int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.players, 50
}

// A sidecar that is away is logged once, and is brought up to date when it comes; then all is
// reported when it changes, but health always.
func TestRun(t *testing.T) {
	s := start(t)
	s.set(http.StatusServiceUnavailable)
	var log strings.Builder
	game := &server{}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	asked := make(chan struct{}, 1000)
	running.Go(func() {
		Run(ctx, Options{SDK: s.sdk, Pace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil)), Players: func() (int, int) {
			select {
			case asked <- struct{}{}:
			default:
			}
			return game.Players()
		}})
	})
	for range 5 { // reports fail
		<-asked
	}
	s.set(0)
	notable := func() []string {
		return slices.DeleteFunc(s.requests(), func(r string) bool { return r == "POST /health {}" })
	}
	await := func(want ...string) {
		t.Helper()
		servicetest.Await(t, func() string { return strings.Join(want, ", ") + ", not " + strings.Join(notable(), ", ") },
			func() bool { return reflect.DeepEqual(notable(), want) })
	}
	want := []string{"POST /ready {}", `PATCH /v1beta1/counters/players {"capacity":"50","count":"0"}`}
	await(want...)
	game.set(2)
	want = append(want, "POST /allocate {}", `PATCH /v1beta1/counters/players {"capacity":"50","count":"2"}`)
	await(want...)
	game.set(3)
	want = append(want, `PATCH /v1beta1/counters/players {"capacity":"50","count":"3"}`)
	await(want...)
	healthy := len(s.requests())
	servicetest.Await(t, func() string { return "more reports of health" }, func() bool { return len(s.requests()) > healthy+3 })
	game.set(0)
	want = append(want, "POST /ready {}", `PATCH /v1beta1/counters/players {"capacity":"50","count":"0"}`)
	await(want...)
	stop()
	running.Wait()
	await(append(want, "POST /shutdown {}")...)
	if text := log.String(); strings.Count(text, "level=WARN") != 1 || strings.Count(text, "level=INFO") != 1 {
		t.Errorf("logged:\n%s", text)
	}
}

// Without a sidecar Run ends as soon as its context does.
func TestRunWithoutSidecar(t *testing.T) {
	s := start(t)
	s.Close()
	ctx, stop := context.WithCancel(t.Context())
	asked := make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() {
		Run(ctx, Options{SDK: s.sdk, Log: slog.New(slog.DiscardHandler), Players: func() (int, int) {
			select {
			case asked <- struct{}{}:
			default:
			}
			return 0, 1
		}})
	})
	<-asked
	stop()
	running.Wait()
}

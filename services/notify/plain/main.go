// Notify-plain is the notification dispatcher as one writes it on the first day: a map of lanes, one per
// subscription and key, a channel of lanes that have work, sixteen workers, one http.Client. It offers
// the API of notifyd and passes the same suite; it is step 0 of notifyd's ladder, kept so that the seams
// of notifyd can be shown to cost nothing.
//
// It is not durable: what is pending when the process ends is lost, and GET /v1/stats says so. A receiver
// that hangs can hold every worker until its attempts time out.
package main

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"dyno/agent"
)

// limits bound what the program does; a test may set tighter ones.
type limits struct {
	workers    int
	pending    int           // notices, per subscription that is to get them
	bytes      int           // of pending notices
	attempts   int           // of one notice
	timeout    time.Duration // of an attempt
	backoff    time.Duration // after the first failed attempt
	maxBackoff time.Duration
	drain      time.Duration // for what is pending at SIGTERM
}

var defaults = limits{
	workers:    16,
	pending:    100_000,
	bytes:      256 << 20,
	attempts:   8,
	timeout:    10 * time.Second,
	backoff:    500 * time.Millisecond,
	maxBackoff: time.Minute,
	drain:      10 * time.Second,
}

type server struct {
	limits       limits
	allowPrivate bool
	client       *http.Client
	ready        chan *lane
	workers      sync.WaitGroup
	stop         context.CancelFunc // ends the workers

	mu       sync.Mutex // guards the fields below
	subs     map[string]*subscription
	lanes    int       // lanes in ready, with a worker or on a timer
	oldest   list.List // of time.Time: when each pending notice was accepted, oldest first
	bytes    int       // of pending notices
	total    counts
	stopping bool
	drained  chan struct{} // closed when nothing is pending while stopping
}

func newServer(l limits, allowPrivate bool) *server {
	ctx, stop := context.WithCancel(context.Background())
	s := &server{
		limits: l, allowPrivate: allowPrivate, stop: stop,
		ready: make(chan *lane, l.pending), subs: map[string]*subscription{}, drained: make(chan struct{}),
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // a proxy would connect wherever it is told to, past the guard
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.DialContext = (&net.Dialer{Timeout: l.timeout, Control: s.guard}).DialContext
	s.client = &http.Client{
		Transport:     transport,
		Timeout:       l.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.workers.Add(l.workers)
	for range l.workers {
		go s.work(ctx)
	}
	return s
}

// close delivers what is pending, within the bound, and returns how many notices were left.
func (s *server) close() (left int) {
	s.mu.Lock()
	s.stopping = true
	if s.oldest.Len() == 0 {
		close(s.drained)
	}
	s.mu.Unlock()
	select {
	case <-s.drained:
	case <-time.After(s.limits.drain):
	}
	s.stop()
	s.workers.Wait()
	s.client.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldest.Len()
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", s.accept)
	mux.HandleFunc("POST /v1/subscriptions", s.subscribe)
	mux.HandleFunc("GET /v1/subscriptions", s.listSubscriptions)
	mux.HandleFunc("GET /v1/subscriptions/{id}", s.getSubscription)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", s.deleteSubscription)
	mux.HandleFunc("GET /v1/stats", s.stats)
	return mux
}

func (s *server) accept(w http.ResponseWriter, r *http.Request) {
	notices, err := readNotices(w, r)
	if err != nil {
		answerError(w, err)
		return
	}
	deliveries, err := s.store(notices)
	if err != nil {
		answerError(w, err)
		return
	}
	out := map[string]any{"accepted": len(notices), "deliveries": deliveries}
	if len(notices) == 1 {
		out["id"] = notices[0].ID
	}
	answer(w, http.StatusAccepted, out)
}

func (s *server) stats(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		ID string `json:"id,omitempty"`
		counts
		Pending int `json:"pending"`
	}
	out := struct {
		Durable bool `json:"durable"`
		row
		Subscriptions []row `json:"subscriptions"`
	}{Subscriptions: []row{}}
	s.mu.Lock()
	out.counts = s.total
	for _, sub := range s.subs {
		one := row{ID: sub.ID, counts: sub.counts}
		for _, l := range sub.lanes {
			one.Pending += len(l.items)
		}
		out.Pending += one.Pending
		out.Subscriptions = append(out.Subscriptions, one)
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, out)
}

// depth and age are what the lab watches: how many notices wait, and for how long the oldest has.
func (s *server) depth() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.oldest.Len())
}

func (s *server) age() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.oldest.Front(); first != nil {
		return time.Since(first.Value.(time.Time)).Seconds()
	}
	return 0
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "%v", err)
	errors.As(err, &r)
	if r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	out := map[string]any{"error": r.text}
	if r.line > 0 {
		out["line"] = r.line
		out["error"] = "line " + strconv.Itoa(r.line) + ": " + r.text
	}
	answer(w, r.status, out)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "public `address`")
	debug := flag.String("debug", "127.0.0.1:0", "`address` of pprof and the agent")
	allowPrivate := flag.Bool("allow-private", false, "let webhooks go to private and loopback addresses")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(*listen, *debug, *allowPrivate); err != nil {
		slog.Error("notify-plain ended", "error", err)
		os.Exit(1)
	}
}

func run(listen, debug string, allowPrivate bool) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	public, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	private, err := net.Listen("tcp", debug)
	if err != nil {
		return err
	}
	s := newServer(defaults, allowPrivate)
	inside := agent.New(agent.Config{Service: "notify-plain"})
	inside.Gauge("async_queue_depth", s.depth)
	inside.Gauge("async_oldest_age_seconds", s.age)
	http.Handle("/debug/dyno/", inside)
	web := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	pages := &http.Server{ReadHeaderTimeout: 10 * time.Second} // of http.DefaultServeMux
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(public) }()
	go func() { failed <- pages.Serve(private) }()
	slog.Warn("in memory only: notices that are pending when the process ends are lost")
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ready": true, "service": "notify-plain", "listen": public.Addr().String(), "debug": private.Addr().String(), "pid": os.Getpid(),
	})
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.Background(), s.limits.drain)
	defer done()
	web.Shutdown(grace)
	left := s.close()
	slog.Info("stopped", "left_undelivered", left)
	return nil
}

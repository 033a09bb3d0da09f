// Notify-plain is the notification dispatcher as one writes it on the first day: two files of JSON
// lines, a map of lanes, sixteen workers, one http.Client. It is step 0 of notifyd's ladder and
// does what the ladder's load needs (notifytest/core), so that the cost of notifyd's seams shows. A
// notice is synced before its 202; one that failed too often is a dead letter, which the journal
// names.
//
// It is not for production: every subscription receives every notice and cannot be deleted, the
// files only grow, and one subscriber that hangs can occupy every worker.
package main

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"dyno/agent"
	"dyno/parts/hostport"
	"dyno/parts/refusal"
	"dyno/parts/standalone"
)

func main() {
	data := flag.String("data", "notify-plain-data", "`folder` of the notices; made if it is missing")
	allowPrivate := flag.Bool("allow-private", false, "let webhooks go to private and loopback addresses")
	standalone.Main("notify-plain", func(_ context.Context, inside *agent.Agent) (standalone.Service, error) {
		s, err := newServer(*data, defaults, *allowPrivate)
		if err != nil {
			return standalone.Service{}, err
		}
		inside.Gauge("async_queue_depth", func() float64 { waiting, _ := s.backlog(); return float64(waiting) })
		inside.Gauge("async_oldest_age_seconds", func() float64 { _, age := s.backlog(); return age.Seconds() })
		web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
			IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
		return standalone.Service{Server: web, Close: func() { slog.Info("stopped", "left_for_the_next_start", s.close()) }}, nil
	})
}

// limits bound what the program does; a test may set tighter ones.
type limits struct {
	workers, attempts   int           // attempts of one notice
	pending, bytes      int           // deliveries that wait, and bytes of their notices
	timeout             time.Duration // of an attempt
	backoff, maxBackoff time.Duration // after the first failed attempt, and after any
}

var defaults = limits{workers: 16, pending: 100_000, bytes: 256 << 20, attempts: 8,
	timeout: 10 * time.Second, backoff: 500 * time.Millisecond, maxBackoff: time.Minute}

// server is the dispatcher. It owns its workers; close waits for them.
type server struct {
	limits       limits
	allowPrivate bool
	client       *http.Client
	ready        chan *lane
	workers      sync.WaitGroup
	stop         context.CancelFunc // ends the workers
	lock         *os.File           // on the data folder
	changes      sync.Mutex         // held while a POST is written and synced; taken before mu
	log          *lineFile          // of notices
	mu           sync.Mutex         // guards the fields below
	journal      *lineFile          // of events
	seq          uint64             // the last notice's number
	seen         seen
	subs         map[string]*subscription
	counts       counts
	lanes        int       // lanes in ready, with a worker or on a timer
	oldest       list.List // of time.Time: when each pending notice was accepted, oldest first
	bytes        int       // of pending notices
}

// newServer opens the data folder and goes on where the last process ended.
func newServer(data string, l limits, allowPrivate bool) (*server, error) {
	s := &server{limits: l, allowPrivate: allowPrivate, client: hostport.Client(l.timeout, allowPrivate),
		subs: map[string]*subscription{}, seen: seen{by: map[string]seenID{}}}
	if err := s.open(data); err != nil {
		return nil, fmt.Errorf("data folder: %w; choose another with --data", err)
	}
	for _, sub := range s.subs {
		s.lanes += len(sub.lanes)
	}
	s.ready = make(chan *lane, max(l.pending, s.lanes))
	for _, sub := range s.subs {
		for _, l := range sub.lanes { // that the last process left
			s.after(l, time.Until(l.next))
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	for range l.workers {
		s.workers.Go(func() { s.work(ctx) })
	}
	return s, nil
}

// close ends the workers and returns the number of deliveries that are left for the next start.
func (s *server) close() (left int) {
	s.stop()
	s.workers.Wait()
	s.client.CloseIdleConnections()
	s.log.file.Close()
	s.journal.file.Close()
	s.lock.Close()
	left, _ = s.backlog()
	return left
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/notices", endpoint(s.postNotices))
	mux.Handle("POST /v1/subscriptions", endpoint(s.subscribe))
	mux.Handle("GET /v1/stats", endpoint(s.stats))
	return mux
}

// endpoint returns the answer to a request, or an error.
type endpoint func(w http.ResponseWriter, r *http.Request) (status int, v any, err error)

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, v, err := e(w, r)
	if err != nil {
		refused := &refusal.Error{Status: http.StatusServiceUnavailable, Text: err.Error() + "; make the data folder writable, then start again"}
		errors.As(err, &refused)
		status, v = refused.Status, map[string]string{"error": refused.Text}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

// backlog is what the lab watches: the number of pending deliveries, and the age of the oldest.
func (s *server) backlog() (waiting int, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.oldest.Front(); first != nil {
		age = time.Since(first.Value.(time.Time))
	}
	return s.oldest.Len(), age
}

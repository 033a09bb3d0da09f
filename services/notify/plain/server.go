package main

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"dyno/parts/guard"
	"dyno/parts/unrouted"
)

// limits bound what the program does; a test may set tighter ones.
type limits struct {
	workers    int
	pending    int           // notices, per subscription that is to get them
	bytes      int           // of pending notices, and again of dead letters
	letters    int           // dead ones, per subscription; beyond, the oldest are purged
	attempts   int           // of one notice
	timeout    time.Duration // of an attempt
	backoff    time.Duration // after the first failed attempt
	maxBackoff time.Duration
	overlap    time.Duration // for which a replaced secret goes on signing
	drain      time.Duration // for what is pending at SIGTERM
}

var defaults = limits{
	workers:    16,
	pending:    100_000,
	bytes:      256 << 20,
	letters:    10_000,
	attempts:   8,
	timeout:    10 * time.Second,
	backoff:    500 * time.Millisecond,
	maxBackoff: time.Minute,
	overlap:    24 * time.Hour,
	drain:      10 * time.Second,
}

// server is the dispatcher. Its workers are its own; close waits for them.
type server struct {
	limits       limits
	allowPrivate bool
	client       *http.Client
	ready        chan *lane
	workers      sync.WaitGroup
	stop         context.CancelFunc // ends the workers
	lock         *os.File           // on the data folder

	// changes is held by whatever must be on the disk before it is answered, until it is: one POST, one
	// fsync. It is taken before mu.
	changes sync.Mutex
	log     *lineFile // of notices

	mu          sync.Mutex // guards the fields below
	journal     *lineFile  // of events
	seq         uint64     // the last notice's
	seen        seen
	subs        map[string]*subscription
	departed    counts    // of deleted subscriptions
	lanes       int       // lanes in ready, with a worker or on a timer
	oldest      list.List // of time.Time: when each pending notice was accepted, oldest first
	bytes       int       // of pending notices
	letterBytes int       // of dead letters
	webhooks    int64     // attempts since the process began
	stopping    bool
	drained     chan struct{} // closed when nothing is pending while stopping
	drainOnce   sync.Once
}

// newServer opens the data folder and goes on where the last process ended.
func newServer(data string, l limits, allowPrivate bool) (*server, error) {
	lock, err := lockFolder(data)
	if err != nil {
		return nil, err
	}
	s := &server{
		limits: l, allowPrivate: allowPrivate, lock: lock,
		subs: map[string]*subscription{}, drained: make(chan struct{}),
	}
	if err := s.open(data); err != nil {
		return nil, errors.Join(err, lock.Close())
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
	s.launch()
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.workers.Add(l.workers)
	for range l.workers {
		go s.work(ctx)
	}
	return s, nil
}

// launch sets the lanes that the last process left in motion.
func (s *server) launch() {
	for _, sub := range s.subs {
		s.lanes += len(sub.lanes)
	}
	s.ready = make(chan *lane, max(s.limits.pending, s.lanes))
	for _, sub := range s.subs {
		for _, l := range sub.lanes {
			s.after(l, time.Until(l.next))
		}
	}
}

// close delivers what is pending, within the bound, and returns how many notices were left.
func (s *server) close(drain time.Duration) (left int) {
	s.mu.Lock()
	s.stopping = true
	s.checkDrained()
	s.mu.Unlock()
	select {
	case <-s.drained:
	case <-time.After(drain):
	}
	s.stop()
	s.workers.Wait()
	s.client.CloseIdleConnections()
	s.changes.Lock() // waits for who is still writing
	defer s.changes.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		for _, l := range sub.lanes {
			if l.timer != nil {
				l.timer.Stop()
			}
		}
	}
	s.log.close()
	s.journal.close()
	s.lock.Close()
	return s.oldest.Len()
}

// checkDrained tells close when there is nothing left to deliver. The caller holds mu.
func (s *server) checkDrained() {
	if s.stopping && s.oldest.Len() == 0 {
		s.drainOnce.Do(func() { close(s.drained) })
	}
}

func (s *server) handler(g *guard.Guard) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/notices", s.postNotices)
	mux.HandleFunc("POST /v1/subscriptions", s.subscribe)
	mux.HandleFunc("GET /v1/subscriptions", s.listSubscriptions)
	mux.HandleFunc("GET /v1/subscriptions/{id}", s.getSubscription)
	mux.HandleFunc("PATCH /v1/subscriptions/{id}", s.patchSubscription)
	mux.HandleFunc("DELETE /v1/subscriptions/{id}", s.deleteSubscription)
	mux.HandleFunc("GET /v1/dead", s.listLetters)
	mux.HandleFunc("GET /v1/dead/{id}", s.getLetter)
	mux.HandleFunc("POST /v1/dead/{id}/replay", s.replayLetter)
	mux.HandleFunc("DELETE /v1/dead/{id}", s.purgeLetter)
	mux.HandleFunc("GET /v1/stats", s.stats)
	unrouted.Refuse(mux, func(w http.ResponseWriter, status int, text string) { answer(w, status, refuse(status, "%s", text)) })
	return g.Wrap(mux, nil)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

// refusal is an error with the HTTP status that it deserves.
type refusal struct {
	Status int       `json:"-"`
	Text   string    `json:"error"`
	Field  string    `json:"field,omitempty"`
	Lines  []badLine `json:"lines,omitempty"` // of a batch
}

type badLine struct {
	Line  int    `json:"line"`
	Field string `json:"field,omitempty"`
	Text  string `json:"error"`
}

func (r *refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// refuseField says what is wrong with one field of what a client sent.
func refuseField(field, format string, args ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Field: field, Text: field + ": " + fmt.Sprintf(format, args...)}
}

func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "%v", err)
	errors.As(err, &r)
	switch r.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.Status, r)
}

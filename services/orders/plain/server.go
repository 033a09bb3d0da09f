package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"dyno/parts/guard"
)

// config is what the program is started with.
type config struct {
	dsn, keys, audience, issuer string

	foreign     int           // status of somebody else's order
	connections int           // to the database
	timeout     time.Duration // of what the database does for one request
	client      time.Duration // within which a client must have sent its request, and again taken the answer
	leeway      time.Duration // by which the clock of whoever issues tokens may be off
	reload      time.Duration // after which the file of keys is looked at again
	lameDuck    time.Duration // after SIGTERM, in which it goes on as before but for /readyz
	drain       time.Duration // for requests under way after that
}

var defaults = config{
	foreign:     http.StatusNotFound,
	connections: 16,
	timeout:     2 * time.Second,
	client:      10 * time.Second,
	leeway:      30 * time.Second,
	reload:      5 * time.Second,
	lameDuck:    2 * time.Second,
	drain:       10 * time.Second,
}

const (
	maxHeader  = 16 << 10 // bytes; a token is about 400
	maxMessage = 64 << 10 // bytes; a message is about 1,200
)

// server answers requests. It starts no goroutines of its own.
type server struct {
	config   config
	db       *sql.DB
	keys     *keys
	stopping atomic.Bool
}

// newServer connects to the database and makes what is missing there.
func newServer(ctx context.Context, c config) (*server, error) {
	k, err := openKeys(c)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, c)
	if err != nil {
		return nil, err
	}
	return &server{config: c, db: db, keys: k}, nil
}

func (s *server) close() { s.db.Close() }

// web returns the HTTP server with its bounds.
func (s *server) web(g *guard.Guard) *http.Server {
	return &http.Server{
		Handler: g.Wrap(s.handler(), nil), MaxHeaderBytes: maxHeader, IdleTimeout: 2 * time.Minute,
		ReadHeaderTimeout: s.config.client, ReadTimeout: s.config.client, WriteTimeout: s.config.timeout + 2*s.config.client,
	}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/order", s.authenticated(s.query))
	mux.HandleFunc("GET /api/v1/orders", s.authenticated(s.list))
	mux.HandleFunc("POST /api/v1/submit", s.authenticated(s.submit))
	mux.HandleFunc("/api/v1/order", notAllowed("GET, HEAD"))
	mux.HandleFunc("/api/v1/orders", notAllowed("GET, HEAD"))
	mux.HandleFunc("/api/v1/submit", notAllowed("POST"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answerError(w, refuse(http.StatusNotFound, "no such path; there are /api/v1/order, /api/v1/orders and /api/v1/submit"))
	})
	return mux
}

// ready answers GET /readyz on the debug address.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.timeout)
	defer cancel()
	if err := s.db.PingContext(ctx); err != nil || s.stopping.Load() {
		answerError(w, errAway)
		return
	}
	fmt.Fprintln(w, "ready")
}

func notAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		answerError(w, refuse(http.StatusMethodNotAllowed, "%s is not allowed here; use %s", r.Method, allow))
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}

// refusal is an error with the HTTP status that it deserves.
type refusal struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Field  string `json:"field,omitempty"`
}

func (r *refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// refuseField says what is wrong with one field of what a client sent.
func refuseField(field, format string, args ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Field: field, Text: field + ": " + fmt.Sprintf(format, args...)}
}

// Answers to what went wrong in more than one place.
var (
	errAway     = refuse(http.StatusServiceUnavailable, "the database does not answer; try again later")
	errNotFound = refuse(http.StatusNotFound, "no such order")
	errConflict = refuse(http.StatusConflict, "the client order id was used for another order; choose another id")
)

// answerError answers with a refusal, and logs what is none.
func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "an error in the gateway, which its log tells; try again later")
	if !errors.As(err, &r) {
		slog.Error("a request failed", "error", err)
	}
	if r.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.Status, r)
}

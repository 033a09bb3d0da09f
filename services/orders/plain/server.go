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
	"time"
)

// config is what the program is started with.
type config struct {
	dsn, keys, audience, issuer string

	foreign     int           // status of the answer for another account's order
	connections int           // to the database
	timeout     time.Duration // of what the database does for one request
	client      time.Duration // of a client to send its request, and to read the answer
	leeway      time.Duration // by which the clock of the issuer of tokens may be off
	reload      time.Duration // after which the file of keys is looked at again
}

var defaults = config{
	foreign:     http.StatusNotFound,
	connections: 16,
	timeout:     2 * time.Second,
	client:      10 * time.Second,
	leeway:      30 * time.Second,
	reload:      5 * time.Second,
}

const (
	maxHeader  = 16 << 10 // bytes; a token is about 400
	maxMessage = 64 << 10 // bytes; a message is about 1,200
)

// server answers requests. It starts no goroutines of its own.
type server struct {
	config config
	db     *sql.DB
	keys   *keys
}

// newServer reads the keys and connects to the database.
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
func (s *server) web() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/order", s.authenticated(s.query))
	mux.HandleFunc("POST /api/v1/submit", s.authenticated(s.submit))
	return &http.Server{
		Handler: mux, MaxHeaderBytes: maxHeader, IdleTimeout: 2 * time.Minute,
		ReadHeaderTimeout: s.config.client, ReadTimeout: s.config.client, WriteTimeout: s.config.timeout + 2*s.config.client,
	}
}

// ready asks whether the database answers.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	return s.db.PingContext(ctx)
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

// refusal is an error with its HTTP status.
type refusal struct {
	Status int    `json:"-"`
	Text   string `json:"error"`
	Field  string `json:"field,omitempty"`
}

func (r *refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// refuseField says what is wrong with one field of a request.
func refuseField(field, format string, args ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Field: field, Text: field + ": " + fmt.Sprintf(format, args...)}
}

// Errors that more than one place returns.
var (
	errAway     = refuse(http.StatusServiceUnavailable, "the database does not answer; try again later")
	errNotFound = refuse(http.StatusNotFound, "no such order")
	errConflict = refuse(http.StatusConflict, "the client order id was used for another order; choose another id")
)

// answerError answers with a refusal, and logs any other error.
func answerError(w http.ResponseWriter, err error) {
	r := refuse(http.StatusInternalServerError, "an error in the gateway, which is in its log; try again later")
	if !errors.As(err, &r) {
		slog.Error("a request failed", "error", err)
	}
	if r.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer(w, r.Status, r)
}

package main

import (
	"container/list"
	"database/sql"
	"io"
	"net/http"
	"sync"
	"time"

	"dyno/subjects/bounds/memdb"
)

// page answers from a database.
type page struct {
	db   *sql.DB
	line line
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	leave, ok := p.line.join(time.Now())
	if !ok {
		http.Error(w, "too many requests wait for the database", http.StatusServiceUnavailable)
		return
	}
	connection, err := p.db.Conn(r.Context())
	leave()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer connection.Close()
	var name string
	if err := connection.QueryRowContext(r.Context(), memdb.Query, 42).Scan(&name); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	io.WriteString(w, name)
}

// maxWaiting bounds the requests that wait for a connection: more are refused.
const maxWaiting = 10_000

// line holds the requests that wait for a connection, in order of arrival.
type line struct {
	mu    sync.Mutex
	since list.List // of time.Time, guarded by mu
}

// join adds a request that waits from now until leave is called; false: too many wait.
func (l *line) join(now time.Time) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.Len() >= maxWaiting {
		return nil, false
	}
	place := l.since.PushBack(now)
	return func() {
		l.mu.Lock()
		l.since.Remove(place)
		l.mu.Unlock()
	}, true
}

func (l *line) depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since.Len()
}

// oldest returns the waiting time of the first request in the line; 0: none waits.
func (l *line) oldest(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.since.Front()
	if first == nil {
		return 0
	}
	return now.Sub(first.Value.(time.Time))
}

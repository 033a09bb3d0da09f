package main

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// watches are the handlers around chaind's own, by the values of the flag.
var watches = map[string]func(http.Handler, *slog.Logger) http.Handler{
	"none":    nil,
	"leaking": func(next http.Handler, log *slog.Logger) http.Handler { return &watched{next: next, log: log} },
	"fixed": func(next http.Handler, log *slog.Logger) http.Handler {
		return &watched{next: next, log: log, fixed: true}
	},
}

const (
	slow     = 10 * time.Second // a call that takes as long is warned of
	mostLeft = 1 << 17          // goroutines: some 400 MB
)

// watched is a handler whose slow calls are warned of. It owns the goroutines that are left; they
// end with the process. Above a limit further calls are refused, since a leak must be found and not
// take the machine down.
type watched struct {
	next  http.Handler
	log   *slog.Logger
	fixed bool
	left  atomic.Int64 // goroutines
}

func (w *watched) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if w.left.Load() >= mostLeft {
		http.Error(to, "too many goroutines are left over", http.StatusServiceUnavailable)
		return
	}
	w.left.Add(1)
	answered := make(chan struct{})
	go w.watch(r.URL.Path, answered)
	w.next.ServeHTTP(to, r)
	if w.fixed {
		close(answered) // the planted fault: without it nothing ends the goroutine
	}
}

// watch warns of a call that is slow, and ends when it is answered.
func (w *watched) watch(path string, answered <-chan struct{}) {
	defer w.left.Add(-1)
	late := time.NewTimer(slow)
	defer late.Stop()
	for {
		select {
		case <-answered:
			return
		case <-late.C:
			w.log.Debug("a call is slow", "path", path)
		}
	}
}

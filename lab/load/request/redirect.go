package request

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"dyno/lab/record/redact"
)

// Redirects reports whether a status sends the client to another place.
func Redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Redirected describes a redirect that does not count as a success.
func Redirected(status int, location string) string {
	if location == "" {
		location = "no place"
	}
	location, _, _ = strings.Cut(redact.URL(location), "?") // a query may contain a token
	return fmt.Sprintf("%d, a redirect to %.200s; list the status in check.status if that is a success, or write follow: 1", status, location)
}

// Turned collects the redirects that failed requests, for a driver's notes. It is safe for
// concurrent use.
type Turned struct {
	mu    sync.Mutex
	count int64
	first string // in words
}

// Add enters a redirect.
func (t *Turned) Add(status int, location string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count++; t.count == 1 {
		t.first = Redirected(status, location)
	}
}

// Notes returns the redirects in words.
func (t *Turned) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("failed by a redirect: %d, the first: %s", t.count, t.first)}
}

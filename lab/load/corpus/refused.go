package corpus

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"dyno/lab/record/redact"
)

// Refusals counts the answers that failed requests, and keeps the first of them for a driver's
// notes. It is safe for concurrent use.
type Refusals struct {
	count atomic.Int64
	mu    sync.Mutex
	first string // the first answer, as text
}

// Add counts an answer; body is the beginning of its body, or empty.
func (r *Refusals) Add(status int, location string, body []byte) {
	if r.count.Add(1) > 1 {
		return
	}
	said := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if Redirects(status) {
		said = Redirected(status, location)
	} else if text := excerpt(body); text != "" {
		said = fmt.Sprintf("%s: %s", strings.TrimSpace(said), text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = strings.TrimSpace(said)
}

// Empty reports whether no answer has failed yet.
func (r *Refusals) Empty() bool { return r.count.Load() == 0 }

// First returns the first answer as text, as in "400 Bad Request: no field name". It is empty if
// no answer has failed.
func (r *Refusals) First() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// Notes returns the number of answers and the first of them.
func (r *Refusals) Notes() []string {
	first := r.First()
	if first == "" {
		return nil
	}
	return []string{fmt.Sprintf("answers that failed: %d, the first: %s", r.count.Load(), first)}
}

// ExcerptLength bounds the part of a body that is shown, in bytes.
const ExcerptLength = 120

// excerpt returns the beginning of a body as one line of visible characters, with secrets
// redacted.
func excerpt(body []byte) string {
	long := len(body) > ExcerptLength
	if long {
		body = body[:ExcerptLength]
	}
	text := strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case c == unicode.ReplacementChar, !unicode.IsGraphic(c):
			return -1
		}
		return c
	}, string(body))
	text = redact.Text(strings.Join(strings.Fields(text), " "))
	if long && text != "" {
		text += "..."
	}
	return text
}

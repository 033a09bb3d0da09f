package notifytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver takes webhooks, verifies each with the Standard Webhooks library, and keeps what it
// accepted.
type receiver struct {
	t       testing.TB
	url     string
	answer  func(hook) reply // nil: 204 to everything
	gate    chan struct{}
	release func() // opens the gate for good

	mu      sync.Mutex
	secrets map[string][]*webhooks.Webhook // by path; every webhook must bear a signature by each
	learned sync.Cond                      // a secret was added
	got     []hook                         // answered with 2xx, in the order of their answers
	tried   map[string]int                 // attempts by path and notice
	arrived map[string]int                 // webhooks by path
}

// hook is one webhook.
type hook struct {
	ctx     context.Context
	gate    <-chan struct{}
	path    string
	id      string // webhook-id
	trace   string // traceparent
	signed  int    // signatures
	try     int    // of its first notice, from 1
	notices []delivered
}

// wait holds the webhook at the receiver's gate until the test, or its end, releases it, or its
// sender has gone.
func (h hook) wait() {
	select {
	case <-h.gate:
	case <-h.ctx.Done():
	}
}

// delivered is one notice as it came.
type delivered struct {
	ID, Key, Type string
	Payload       string // JSON, byte for byte
	Timestamp     time.Time
	body          string
}

// reply is how a receiver answers.
type reply struct {
	status int
	header map[string]string
}

func newReceiver(t testing.TB, answer func(hook) reply) *receiver {
	r := &receiver{
		t: t, answer: answer, gate: make(chan struct{}),
		secrets: map[string][]*webhooks.Webhook{}, tried: map[string]int{}, arrived: map[string]int{},
	}
	r.learned.L = &r.mu
	r.release = sync.OnceFunc(func() { close(r.gate) })
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		r.release()
		server.Close() // waits for its requests
	})
	r.url = server.URL
	return r
}

// held answers when the receiver's gate is open.
func held(h hook) reply {
	h.wait()
	return reply{status: 200}
}

// gone answers 410 at one path.
func gone(h hook) reply {
	if h.path == "/gone" {
		return reply{status: 410}
	}
	return reply{status: 200}
}

// staged fails at state 0, is held at 1, and answers at 2.
func staged(state *atomic.Int32) func(hook) reply {
	return func(h hook) reply {
		if state.Load() == 0 {
			return reply{status: 500}
		}
		if state.Load() == 1 {
			h.wait()
		}
		return reply{status: 200}
	}
}

// flaky fails one webhook in five.
func flaky(hook) reply {
	if rand.IntN(5) == 0 {
		return reply{status: 500}
	}
	return reply{status: 200}
}

// know sets the secrets that sign what comes to a path from now on.
func (r *receiver) know(path string, secrets ...string) {
	var all []*webhooks.Webhook
	for _, secret := range secrets {
		w, err := webhooks.NewWebhook(secret)
		if err != nil {
			r.t.Fatalf("secret of %s: %v", path, err)
		}
		all = append(all, w)
	}
	r.mu.Lock()
	r.secrets[path] = all
	r.mu.Unlock()
	r.learned.Broadcast()
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was stopped while it sent
	}
	h := hook{
		ctx: req.Context(), gate: r.gate, path: req.URL.Path, id: req.Header.Get("webhook-id"), trace: req.Header.Get("traceparent"),
		signed: len(strings.Fields(req.Header.Get("webhook-signature"))),
	}
	if h.notices, err = parse(body); err != nil {
		r.t.Errorf("webhook to %s: %v: %s", h.path, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(h.notices) == 1 && h.id != h.notices[0].ID {
		r.t.Errorf("webhook-id %q of notice %q", h.id, h.notices[0].ID)
	}
	if got := req.Header.Get("Content-Type"); req.Method != http.MethodPost || got != "application/json" {
		r.t.Errorf("%s with Content-Type %q", req.Method, got)
	}
	for _, secret := range r.arrive(&h) {
		if err := secret.Verify(body, req.Header); err != nil {
			r.t.Errorf("webhook to %s: %v", h.path, err)
		}
	}
	a := reply{status: http.StatusNoContent}
	if r.answer != nil {
		a = r.answer(h)
	}
	if req.Context().Err() != nil {
		return // the sender has gone
	}
	if a.status < 300 {
		r.mu.Lock()
		r.got = append(r.got, h)
		r.mu.Unlock()
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
}

// arrive books an attempt and returns the secrets of its path, as soon as the test has told them.
func (r *receiver) arrive(h *hook) []*webhooks.Webhook {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.secrets[h.path] == nil {
		r.learned.Wait()
	}
	r.arrived[h.path]++
	for i, n := range h.notices {
		name := h.path + " " + n.ID
		if r.tried[name]++; i == 0 {
			h.try = r.tried[name]
		}
	}
	return r.secrets[h.path]
}

// parse reads a webhook's body: one notice, or several.
func parse(body []byte) ([]delivered, error) {
	raw := []json.RawMessage{body}
	if bytes.HasPrefix(body, []byte("[")) {
		raw = nil
		if err := json.Unmarshal(body, &raw); err != nil {
			return nil, err
		}
		if len(raw) == 0 {
			return nil, errors.New("an empty batch")
		}
	}
	var out []delivered
	for _, text := range raw {
		d, err := parseOne(text)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func parseOne(text []byte) (delivered, error) {
	var envelope struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      struct {
			ID      string          `json:"id"`
			Key     string          `json:"key"`
			Payload json.RawMessage `json:"payload"`
		} `json:"data"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&envelope)
	data := envelope.Data
	if err == nil && (envelope.Type == "" || envelope.Timestamp.IsZero() || data.ID == "" || data.Key == "" || data.Payload == nil) {
		err = errors.New("type, timestamp, id, key or payload is missing")
	}
	return delivered{data.ID, data.Key, envelope.Type, string(data.Payload), envelope.Timestamp, string(text)}, err
}

// hooks returns the webhooks accepted so far.
func (r *receiver) hooks() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// attempts returns how often a notice came to a path.
func (r *receiver) attempts(path, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried[path+" "+id]
}

// webhooks returns how many webhooks came to a path.
func (r *receiver) webhooks(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[path]
}

// sequences returns what was accepted by path and key, in order.
func (r *receiver) sequences() map[string][]delivered {
	out := map[string][]delivered{}
	for _, h := range r.hooks() {
		for _, n := range h.notices {
			out[h.path+" "+n.Key] = append(out[h.path+" "+n.Key], n)
		}
	}
	return out
}

// first leaves out what came again: a program that was killed does not know what it had delivered
// last.
func first(notices []delivered) (out []delivered) {
	known := map[string]bool{}
	for _, n := range notices {
		if !known[n.ID] {
			known[n.ID] = true
			out = append(out, n)
		}
	}
	return out
}

// ids lists notices by their ids.
func ids(notices []delivered) []string {
	var out []string
	for _, n := range notices {
		out = append(out, n.ID)
	}
	return out
}

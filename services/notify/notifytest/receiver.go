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

// Receiver takes webhooks, verifies each with the Standard Webhooks library, and keeps what it
// accepted.
type Receiver struct {
	t       testing.TB
	URL     string
	answer  func(Hook) Reply // nil: 204 to everything
	gate    chan struct{}
	Release func() // opens the gate for good

	mu      sync.Mutex
	secrets map[string][]*webhooks.Webhook // by path; every webhook must bear a signature by each
	learned sync.Cond                      // a secret was added
	got     []Hook                         // answered with 2xx, in the order of their answers
	tried   map[string]int                 // attempts by path and notice
	arrived map[string]int                 // webhooks by path
}

// Hook is one webhook.
type Hook struct {
	ctx     context.Context
	gate    <-chan struct{}
	Path    string
	Id      string // webhook-id
	Trace   string // traceparent
	Signed  int    // signatures
	Try     int    // of its first notice, from 1
	Notices []delivered
}

// Wait holds the webhook at the receiver's gate until the test, or its end, releases it, or its
// sender has gone.
func (h Hook) Wait() {
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
	Body          string
}

// Reply is how a receiver answers.
type Reply struct {
	Status int
	Header map[string]string
}

func NewReceiver(t testing.TB, answer func(Hook) Reply) *Receiver {
	r := &Receiver{
		t: t, answer: answer, gate: make(chan struct{}),
		secrets: map[string][]*webhooks.Webhook{}, tried: map[string]int{}, arrived: map[string]int{},
	}
	r.learned.L = &r.mu
	r.Release = sync.OnceFunc(func() { close(r.gate) })
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		r.Release()
		server.Close() // waits for its requests
	})
	r.URL = server.URL
	return r
}

// Held answers when the receiver's gate is open.
func Held(h Hook) Reply {
	h.Wait()
	return Reply{Status: 200}
}

// Flaky fails one webhook in five.
func Flaky(Hook) Reply {
	if rand.IntN(5) == 0 {
		return Reply{Status: 500}
	}
	return Reply{Status: 200}
}

// Know sets the secrets that sign what comes to a path from now on.
func (r *Receiver) Know(path string, secrets ...string) {
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

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was stopped while it sent
	}
	h := Hook{
		ctx: req.Context(), gate: r.gate, Path: req.URL.Path, Id: req.Header.Get("webhook-id"), Trace: req.Header.Get("traceparent"),
		Signed: len(strings.Fields(req.Header.Get("webhook-signature"))),
	}
	if h.Notices, err = parse(body); err != nil {
		r.t.Errorf("webhook to %s: %v: %s", h.Path, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(h.Notices) == 1 && h.Id != h.Notices[0].ID {
		r.t.Errorf("webhook-id %q of notice %q", h.Id, h.Notices[0].ID)
	}
	if got := req.Header.Get("Content-Type"); req.Method != http.MethodPost || got != "application/json" {
		r.t.Errorf("%s with Content-Type %q", req.Method, got)
	}
	for _, secret := range r.arrive(&h) {
		if err := secret.Verify(body, req.Header); err != nil {
			r.t.Errorf("webhook to %s: %v", h.Path, err)
		}
	}
	a := Reply{Status: http.StatusNoContent}
	if r.answer != nil {
		a = r.answer(h)
	}
	if req.Context().Err() != nil {
		return // the sender has gone
	}
	if a.Status < 300 {
		r.mu.Lock()
		r.got = append(r.got, h)
		r.mu.Unlock()
	}
	for k, v := range a.Header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.Status)
}

// arrive books an attempt and returns the secrets of its path, as soon as the test has told them.
func (r *Receiver) arrive(h *Hook) []*webhooks.Webhook {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.secrets[h.Path] == nil {
		r.learned.Wait()
	}
	r.arrived[h.Path]++
	for i, n := range h.Notices {
		name := h.Path + " " + n.ID
		if r.tried[name]++; i == 0 {
			h.Try = r.tried[name]
		}
	}
	return r.secrets[h.Path]
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
		d, err := ParseOne(text)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func ParseOne(text []byte) (delivered, error) {
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

// Hooks returns the webhooks accepted so far.
func (r *Receiver) Hooks() []Hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// Attempts returns how often a notice came to a path.
func (r *Receiver) Attempts(path, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried[path+" "+id]
}

// Webhooks returns how many webhooks came to a path.
func (r *Receiver) Webhooks(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived[path]
}

// Sequences returns what was accepted by path and key, in order.
func (r *Receiver) Sequences() map[string][]delivered {
	out := map[string][]delivered{}
	for _, h := range r.Hooks() {
		for _, n := range h.Notices {
			out[h.Path+" "+n.Key] = append(out[h.Path+" "+n.Key], n)
		}
	}
	return out
}

// First leaves out what came again: a program that was killed does not know what it had delivered
// last.
func First(notices []delivered) (out []delivered) {
	known := map[string]bool{}
	for _, n := range notices {
		if !known[n.ID] {
			known[n.ID] = true
			out = append(out, n)
		}
	}
	return out
}

// Ids lists notices by their ids.
func Ids(notices []delivered) []string {
	var out []string
	for _, n := range notices {
		out = append(out, n.ID)
	}
	return out
}

// Ward is a receiver that answers 500 while it is ill.
func Ward(t testing.TB) (r *Receiver, ill *atomic.Bool) {
	ill = new(atomic.Bool)
	ill.Store(true)
	return NewReceiver(t, func(h Hook) Reply {
		if ill.Load() && !strings.HasPrefix(h.Path, "/well") {
			return Reply{Status: 500}
		}
		return Reply{Status: 200}
	}), ill
}

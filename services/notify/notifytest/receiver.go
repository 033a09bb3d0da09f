package notifytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiver takes webhooks, verifies each with the Standard Webhooks library, and keeps what it accepted.
type receiver struct {
	t       testing.TB
	url     string
	answer  func(hook) reply // nil: 204 to everything
	gate    chan struct{}
	release func() // lets go of those that wait at the gate, now and later

	mu      sync.Mutex
	secrets map[string]*webhooks.Webhook // by path
	learned sync.Cond                    // a secret was added
	got     []hook                       // answered with 2xx, in the order of their answers
	tried   map[string]int               // attempts by path and notice
}

// hook is one webhook.
type hook struct {
	gate    <-chan struct{}
	path    string
	id      string // webhook-id
	try     int    // of its first notice, from 1
	notices []delivered
}

// wait holds the webhook at the receiver's gate until the test, or its end, releases it.
func (h hook) wait() { <-h.gate }

// delivered is one notice as it came.
type delivered struct {
	ID, Key, Type string
	Payload       json.RawMessage
	body          string
}

// reply is how a receiver answers.
type reply struct {
	status int
	header map[string]string
}

func newReceiver(t testing.TB, answer func(hook) reply) *receiver {
	r := &receiver{t: t, answer: answer, secrets: map[string]*webhooks.Webhook{}, tried: map[string]int{}}
	r.learned.L = &r.mu
	r.gate = make(chan struct{})
	r.release = sync.OnceFunc(func() { close(r.gate) })
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		r.release()
		server.Close() // waits for its requests
	})
	r.url = server.URL
	return r
}

// know tells the receiver a path's secret.
func (r *receiver) know(path, secret string) {
	w, err := webhooks.NewWebhook(secret)
	if err != nil {
		r.t.Fatalf("secret of %s: %v", path, err)
	}
	r.mu.Lock()
	r.secrets[path] = w
	r.mu.Unlock()
	r.learned.Broadcast()
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was stopped in mid-sentence
	}
	h := hook{gate: r.gate, path: req.URL.Path, id: req.Header.Get("webhook-id")}
	if h.notices, err = parse(body); err != nil {
		r.t.Errorf("webhook to %s: %v: %s", h.path, err, body)
	}
	if len(h.notices) == 1 && h.id != h.notices[0].ID {
		r.t.Errorf("webhook-id %q of notice %q", h.id, h.notices[0].ID)
	}
	if got := req.Header.Get("Content-Type"); req.Method != http.MethodPost || got != "application/json" {
		r.t.Errorf("%s with Content-Type %q", req.Method, got)
	}
	r.mu.Lock()
	for r.secrets[h.path] == nil {
		r.learned.Wait()
	}
	secret := r.secrets[h.path]
	for i, n := range h.notices {
		name := h.path + " " + n.ID
		if r.tried[name]++; i == 0 {
			h.try = r.tried[name]
		}
	}
	r.mu.Unlock()
	if err := secret.Verify(body, req.Header); err != nil {
		r.t.Errorf("webhook to %s: %v", h.path, err)
	}
	a := reply{status: http.StatusNoContent}
	if r.answer != nil {
		a = r.answer(h)
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

// parse reads a webhook's body: one notice, or several.
func parse(body []byte) ([]delivered, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		raw = []json.RawMessage{body}
	} else if len(raw) == 0 {
		return nil, fmt.Errorf("an empty batch")
	}
	var out []delivered
	for _, text := range raw {
		d := delivered{body: string(text)}
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// hooks returns the webhooks accepted so far.
func (r *receiver) hooks() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hook(nil), r.got...)
}

// attempts returns how often a notice came to a path.
func (r *receiver) attempts(path, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried[path+" "+id]
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

// ids lists notices by their ids.
func ids(notices []delivered) []string {
	var out []string
	for _, n := range notices {
		out = append(out, n.ID)
	}
	return out
}

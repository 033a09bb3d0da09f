// Package notifytest is the black-box suite of the notification dispatcher: what any program must do
// that offers its API, however it is put together. It talks HTTP only, so the plain program and every
// assembly of notifyd pass the same tests.
//
// It is not for speed. Everything that a test starts has ended when the test has.
package notifytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Limits are what a test asks of the program, tighter than one would run it with.
type Limits struct {
	Pending      int // notices
	Attempts     int
	Backoff      time.Duration
	MaxBackoff   time.Duration
	Timeout      time.Duration
	Drain        time.Duration
	AllowPrivate bool
}

// limits are the suite's own, unless a test says otherwise.
var limits = Limits{
	Pending: 10_000, Attempts: 4, Backoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	Timeout: 10 * time.Second, Drain: 10 * time.Second, AllowPrivate: true,
}

// Program is a running dispatcher.
type Program struct {
	URL  string
	Stop func() (left int) // drains, ends it, and says how many notices were not delivered
}

// Start starts a dispatcher. The suite calls Stop once.
type Start func(t testing.TB, l Limits) Program

// Test runs the suite.
func Test(t *testing.T, start Start) {
	for name, run := range map[string]func(*testing.T, Start){
		"delivers":                       delivers,
		"filters by type":                filters,
		"refuses what is no notice":      refusesBad,
		"takes a batch whole or not":     takesWhole,
		"refuses beyond its bound":       refusesBeyond,
		"keeps order through failures":   keepsOrder,
		"one in flight per key":          oneInFlight,
		"keys do not block one another":  keysDoNotBlock,
		"gives up after its attempts":    givesUp,
		"honours Retry-After":            honoursRetryAfter,
		"410 disables":                   goneDisables,
		"follows no redirect":            followsNoRedirect,
		"guards against private targets": guards,
		"shows a secret once":            showsSecretOnce,
		"manages subscriptions":          manages,
		"deleting gives up":              deletingGivesUp,
		"delivers what the model says":   matchesModel,
		"adds up":                        addsUp,
		"batches":                        batches,
		"drains":                         drains,
		"drains within its bound":        drainsBounded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, start)
		})
	}
}

// client is a program under test and a way to talk to it.
type client struct {
	t    testing.TB
	url  string
	http *http.Client
	stop func() int
}

func open(t testing.TB, start Start, l Limits) *client {
	p := start(t, l)
	c := &client{t: t, url: p.URL, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	stopped, left := false, 0
	c.stop = func() int {
		if !stopped {
			stopped = true
			left = p.Stop()
		}
		return left
	}
	t.Cleanup(func() {
		c.stop()
		c.http.CloseIdleConnections()
	})
	return c
}

// do sends a request and returns the status, header and body of the answer.
func (c *client) do(method, path, contentType, body string) (int, http.Header, []byte) {
	c.t.Helper()
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// Content types of the API.
const (
	one   = "application/json"
	batch = "application/x-ndjson"
)

// post sends notices and fails the test unless they are accepted.
func (c *client) post(contentType, body string) (deliveries int) {
	c.t.Helper()
	status, _, data := c.do("POST", "/v1/notices", contentType, body)
	if status != http.StatusAccepted {
		c.t.Fatalf("POST /v1/notices: %d %s", status, data)
	}
	return deliveriesIn(c.t, data)
}

func deliveriesIn(t testing.TB, answer []byte) int {
	t.Helper()
	var out struct{ Deliveries int }
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Errorf("%s: %v", answer, err)
	}
	return out.Deliveries
}

// refused sends notices that must not be accepted, and returns the error's text.
func (c *client) refused(status int, contentType, body string) string {
	c.t.Helper()
	got, header, data := c.do("POST", "/v1/notices", contentType, body)
	var out struct{ Error string }
	if err := json.Unmarshal(data, &out); err != nil || got != status || out.Error == "" {
		c.t.Fatalf("POST /v1/notices: %d %s, want %d and an error in JSON", got, data, status)
	}
	if later := header.Get("Retry-After"); (status == 429 || status == 503) != (later != "") {
		c.t.Fatalf("%d with Retry-After %q", status, later)
	}
	return out.Error
}

// subscription is what the API answers.
type subscription struct {
	ID, URL, Secret string
	Types           []string
	Batch           int
	Disabled        bool
}

// subscribe makes a subscription to a receiver's path, which then knows its secret.
func (c *client) subscribe(r *receiver, path string, more map[string]any) subscription {
	c.t.Helper()
	ask := map[string]any{"url": r.url + path}
	for k, v := range more {
		ask[k] = v
	}
	body, err := json.Marshal(ask)
	if err != nil {
		c.t.Fatal(err)
	}
	status, _, data := c.do("POST", "/v1/subscriptions", one, string(body))
	var sub subscription
	if err := json.Unmarshal(data, &sub); err != nil || status != http.StatusCreated {
		c.t.Fatalf("POST /v1/subscriptions %s: %d %s", body, status, data)
	}
	r.know(path, sub.Secret)
	return sub
}

// row is one line of the statistics.
type row struct {
	ID                                                   string
	Accepted, Delivered, Retried, Dead, Refused, Pending int
}

type stats struct {
	row
	Durable       *bool
	Subscriptions []row
}

func (c *client) stats() stats {
	c.t.Helper()
	status, _, data := c.do("GET", "/v1/stats", "", "")
	var s stats
	if err := json.Unmarshal(data, &s); err != nil || status != http.StatusOK {
		c.t.Fatalf("GET /v1/stats: %d %s", status, data)
	}
	return s
}

// quiet waits until nothing is pending and checks that the figures add up, in total and by subscription.
func (c *client) quiet() stats {
	c.t.Helper()
	var s stats
	await(c.t, func() bool {
		s = c.stats()
		return s.Pending == 0
	}, func() string { return fmt.Sprintf("nothing to be pending: %+v", s) })
	for _, r := range append(s.Subscriptions, s.row) {
		if r.Accepted != r.Delivered+r.Dead {
			c.t.Fatalf("accepted %d is not delivered %d + dead %d (%+v)", r.Accepted, r.Delivered, r.Dead, r)
		}
	}
	return s
}

// patience bounds every wait; it is reached only when a test fails.
const patience = 30 * time.Second

// await returns when done is true.
func await(t testing.TB, done func() bool, what func() string) {
	t.Helper()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatalf("waited %v for %s", patience, what())
		}
	}
}

// notice writes a notice as JSON.
func notice(id, key, kind, payload string) string {
	return fmt.Sprintf(`{"id":%q,"key":%q,"type":%q,"payload":%s}`, id, key, kind, payload)
}

// lines joins notices to a batch.
func lines(notices ...string) string { return strings.Join(notices, "\n") + "\n" }

// compact removes spaces from JSON.
func compact(t testing.TB, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.String()
}

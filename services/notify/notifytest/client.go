package notifytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"dyno/parts/servicetest"
)

// Client is a program under test and a way to talk to it.
type Client struct {
	T       testing.TB
	start   Start
	dir     string
	Limits  Limits
	HTTP    *http.Client
	Program Program
	Running bool
}

// Open starts a program over a folder of its own.
func Open(t testing.TB, start Start, l Limits) *Client {
	c := &Client{T: t, start: start, dir: t.TempDir(), Limits: l, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	c.Run()
	t.Cleanup(func() {
		c.Stop()
		c.HTTP.CloseIdleConnections()
	})
	return c
}

// Run starts the program over the client's folder, after Stop.
func (c *Client) Run() {
	c.Program, c.Running = c.start(c.T, c.dir, c.Limits), true
}

// Stop ends the program, unless it has ended.
func (c *Client) Stop() (left int) {
	if c.Running {
		c.Running = false
		c.HTTP.CloseIdleConnections() // a server waits for them before it ends
		left = c.Program.Stop()
	}
	return left
}

// Restart ends the program and starts it again over its folder.
func (c *Client) Restart(kill bool) {
	if kill {
		c.Running = false
		c.Program.Kill()
	} else {
		c.Stop()
	}
	c.Run()
}

// Content types of the API.
const (
	One   = "application/json"
	Batch = "application/x-ndjson"
)

// Send sends a request and returns the answer and its body; an error when there is none.
func (c *Client) Send(method, path, contentType, body string, more http.Header) (*http.Response, []byte, error) {
	header := http.Header{}
	maps.Copy(header, more)
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return servicetest.Exchange(c.HTTP, method, c.Program.URL+path, body, header)
}

// Do sends a request and returns the status, header and body of the answer.
func (c *Client) Do(method, path, contentType, body string) (int, http.Header, []byte) {
	c.T.Helper()
	resp, data, err := c.Send(method, path, contentType, body, nil)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// Get reads what the API shows of something.
func Get[T any](c *Client, path string) (out T) {
	c.T.Helper()
	status, _, data := c.Do("GET", path, "", "")
	if err := json.Unmarshal(data, &out); err != nil || status != http.StatusOK {
		c.T.Fatalf("GET %s: %d %s", path, status, data)
	}
	return out
}

// Must sends a request without content that has to be answered with a status.
func (c *Client) Must(want int, method, path string) {
	c.T.Helper()
	if status, _, data := c.Do(method, path, "", ""); status != want {
		c.T.Fatalf("%s %s: %d %s, want %d", method, path, status, data, want)
	}
}

// Taken is the answer to notices: of one, or of a batch.
type Taken struct {
	Status     int
	ID         string
	Seq        uint64
	Duplicate  bool
	Deliveries int
	Accepted   int
	Duplicates int
	Notices    []struct {
		ID        string
		Seq       uint64
		Duplicate bool
	}
}

// Post sends notices and fails the test unless they are accepted, or all duplicates.
func (c *Client) Post(contentType, body string) Taken {
	c.T.Helper()
	return c.PostWith(contentType, body, nil)
}

func (c *Client) PostWith(contentType, body string, header http.Header) (out Taken) {
	c.T.Helper()
	resp, data, err := c.Send("POST", "/v1/notices", contentType, body, header)
	if err != nil {
		c.T.Fatal(err)
	}
	out, err = ReadTaken(resp.StatusCode, data)
	if err != nil {
		c.T.Fatal(err)
	}
	return out
}

func ReadTaken(status int, data []byte) (out Taken, err error) {
	if status != http.StatusAccepted && status != http.StatusOK {
		return out, fmt.Errorf("POST /v1/notices: %d %s", status, data)
	}
	out.Status = status
	return out, json.Unmarshal(data, &out)
}

// Problem is what the API says when it refuses something.
type Problem struct {
	Error string
	Field string
	Lines []struct {
		Line  int
		Field string
		Error string
	}
}

// Refused sends notices that must not be accepted.
func (c *Client) Refused(status int, contentType, body string) Problem {
	c.T.Helper()
	got, header, data := c.Do("POST", "/v1/notices", contentType, body)
	var out Problem
	if err := json.Unmarshal(data, &out); err != nil || got != status || out.Error == "" {
		c.T.Fatalf("POST /v1/notices: %d %s, want %d and an error in JSON", got, data, status)
	}
	if later := header.Get("Retry-After"); (status == 429 || status == 503) != (later != "") {
		c.T.Fatalf("%d with Retry-After %q", status, later)
	}
	return out
}

// Subscription is what the API answers.
type Subscription struct {
	ID, URL, Secret string
	Types           []string
	Batch           int
	Secrets         int
	Disabled        string
}

// Subscribe makes a subscription to a receiver's path, which then knows its secret.
func (c *Client) Subscribe(r *Receiver, path string, more map[string]any) Subscription {
	c.T.Helper()
	ask := map[string]any{"url": r.URL + path}
	for k, v := range more {
		ask[k] = v
	}
	status, sub, data := c.ask("POST", "/v1/subscriptions", ask)
	if status != http.StatusCreated {
		c.T.Fatalf("POST /v1/subscriptions %v: %d %s", ask, status, data)
	}
	r.Know(path, sub.Secret)
	return sub
}

// Patch changes a subscription.
func (c *Client) Patch(id string, change map[string]any) Subscription {
	c.T.Helper()
	status, sub, data := c.ask("PATCH", "/v1/subscriptions/"+id, change)
	if status != http.StatusOK {
		c.T.Fatalf("PATCH %v: %d %s", change, status, data)
	}
	return sub
}

func (c *Client) ask(method, path string, ask map[string]any) (status int, sub Subscription, data []byte) {
	c.T.Helper()
	body, err := json.Marshal(ask)
	if err != nil {
		c.T.Fatal(err)
	}
	status, _, data = c.Do(method, path, One, string(body))
	if err := json.Unmarshal(data, &sub); err != nil && status < 300 {
		c.T.Fatalf("%s %s: %d %s: %v", method, path, status, data, err)
	}
	return status, sub, data
}

// Row is one line of the statistics.
type Row struct {
	ID, State                                                    string
	Accepted, Delivered, Retried, Dead, Refused, Purged, Pending int
	Letters                                                      int `json:"dead_letters"`
}

type Stats struct {
	Row
	Durable       *bool
	Seq           uint64
	Subscriptions []Row
}

// Of returns a subscription's line.
func (s Stats) Of(id string) Row {
	for _, r := range s.Subscriptions {
		if r.ID == id {
			return r
		}
	}
	return Row{}
}

func (c *Client) Stats() Stats {
	c.T.Helper()
	return Get[Stats](c, "/v1/stats")
}

// Quiet waits until nothing is pending and checks that the figures add up.
func (c *Client) Quiet() Stats {
	c.T.Helper()
	var s Stats
	servicetest.Await(c.T, func() string { return fmt.Sprintf("nothing to be pending: %+v", s) }, func() bool {
		s = c.Stats()
		return s.Pending == 0
	})

	return c.Sums()
}

// Sums checks that the figures add up, in total and by subscription, at a moment when nothing
// moves.
func (c *Client) Sums() Stats {
	c.T.Helper()
	s := c.Stats()
	for _, r := range append(s.Subscriptions, s.Row) {
		if r.Accepted != r.Delivered+r.Dead+r.Pending {
			c.T.Fatalf("accepted %d is not delivered %d + dead %d + pending %d (%+v)", r.Accepted, r.Delivered, r.Dead, r.Pending, r)
		}
	}
	return s
}

// Warm posts notices that a receiver takes, because a program may begin slowly with one it does not
// know.
func (c *Client) Warm() (deliveries int) {
	c.T.Helper()
	var ns []string
	for i := range 64 {
		ns = append(ns, Notice(fmt.Sprintf("warm%d", i), fmt.Sprintf("warm%d", i), "t", "1"))
	}
	deliveries = c.Post(Batch, Lines(ns...)).Deliveries
	c.Quiet()
	return deliveries
}

// Notice writes a notice as JSON.
func Notice(id, key, kind, payload string) string {
	return fmt.Sprintf(`{"id":%q,"key":%q,"type":%q,"payload":%s}`, id, key, kind, payload)
}

// Series writes notices PREFIX000, PREFIX001, ..., over some keys.
func Series(prefix string, n, keys int) []string {
	var out []string
	for i := range n {
		out = append(out, Notice(fmt.Sprintf("%s%03d", prefix, i), fmt.Sprintf("k%d", i%keys), "t", fmt.Sprint(i)))
	}
	return out
}

// Lines joins notices to a batch.
func Lines(notices ...string) string { return strings.Join(notices, "\n") + "\n" }

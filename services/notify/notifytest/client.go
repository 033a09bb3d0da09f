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

// client is a program under test and a way to talk to it.
type client struct {
	t       testing.TB
	start   Start
	dir     string
	limits  Limits
	http    *http.Client
	program Program
	running bool
}

// open starts a program over a folder of its own.
func open(t testing.TB, start Start, l Limits) *client {
	c := &client{t: t, start: start, dir: t.TempDir(), limits: l, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	c.run()
	t.Cleanup(func() {
		c.stop()
		c.http.CloseIdleConnections()
	})
	return c
}

func (c *client) run() {
	c.program, c.running = c.start(c.t, c.dir, c.limits), true
}

// stop ends the program, unless it has ended.
func (c *client) stop() (left int) {
	if c.running {
		c.running = false
		left = c.program.Stop()
	}
	return left
}

// restart ends the program and starts it again over its folder.
func (c *client) restart(kill bool) {
	if kill {
		c.running = false
		c.program.Kill()
	} else {
		c.stop()
	}
	c.run()
}

// Content types of the API.
const (
	one   = "application/json"
	batch = "application/x-ndjson"
)

// send sends a request and returns the answer and its body; an error when there is none.
func (c *client) send(method, path, contentType, body string, more http.Header) (*http.Response, []byte, error) {
	header := http.Header{}
	maps.Copy(header, more)
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return servicetest.Exchange(c.http, method, c.program.URL+path, body, header)
}

// do sends a request and returns the status, header and body of the answer.
func (c *client) do(method, path, contentType, body string) (int, http.Header, []byte) {
	c.t.Helper()
	resp, data, err := c.send(method, path, contentType, body, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, data
}

// get reads what the API shows of something.
func get[T any](c *client, path string) (out T) {
	c.t.Helper()
	status, _, data := c.do("GET", path, "", "")
	if err := json.Unmarshal(data, &out); err != nil || status != http.StatusOK {
		c.t.Fatalf("GET %s: %d %s", path, status, data)
	}
	return out
}

// must sends a request without content that has to be answered with a status.
func (c *client) must(want int, method, path string) {
	c.t.Helper()
	if status, _, data := c.do(method, path, "", ""); status != want {
		c.t.Fatalf("%s %s: %d %s, want %d", method, path, status, data, want)
	}
}

// taken is the answer to notices: of one, or of a batch.
type taken struct {
	status     int
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

// post sends notices and fails the test unless they are accepted, or all duplicates.
func (c *client) post(contentType, body string) taken {
	c.t.Helper()
	return c.postWith(contentType, body, nil)
}

func (c *client) postWith(contentType, body string, header http.Header) (out taken) {
	c.t.Helper()
	resp, data, err := c.send("POST", "/v1/notices", contentType, body, header)
	if err != nil {
		c.t.Fatal(err)
	}
	out, err = readTaken(resp.StatusCode, data)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func readTaken(status int, data []byte) (out taken, err error) {
	if status != http.StatusAccepted && status != http.StatusOK {
		return out, fmt.Errorf("POST /v1/notices: %d %s", status, data)
	}
	out.status = status
	return out, json.Unmarshal(data, &out)
}

// problem is what the API says when it refuses something.
type problem struct {
	Error string
	Field string
	Lines []struct {
		Line  int
		Field string
		Error string
	}
}

// refused sends notices that must not be accepted.
func (c *client) refused(status int, contentType, body string) problem {
	c.t.Helper()
	got, header, data := c.do("POST", "/v1/notices", contentType, body)
	var out problem
	if err := json.Unmarshal(data, &out); err != nil || got != status || out.Error == "" {
		c.t.Fatalf("POST /v1/notices: %d %s, want %d and an error in JSON", got, data, status)
	}
	if later := header.Get("Retry-After"); (status == 429 || status == 503) != (later != "") {
		c.t.Fatalf("%d with Retry-After %q", status, later)
	}
	return out
}

// subscription is what the API answers.
type subscription struct {
	ID, URL, Secret string
	Types           []string
	Batch           int
	Secrets         int
	Disabled        string
}

// subscribe makes a subscription to a receiver's path, which then knows its secret.
func (c *client) subscribe(r *receiver, path string, more map[string]any) subscription {
	c.t.Helper()
	ask := map[string]any{"url": r.url + path}
	for k, v := range more {
		ask[k] = v
	}
	status, sub, data := c.ask("POST", "/v1/subscriptions", ask)
	if status != http.StatusCreated {
		c.t.Fatalf("POST /v1/subscriptions %v: %d %s", ask, status, data)
	}
	r.know(path, sub.Secret)
	return sub
}

// patch changes a subscription.
func (c *client) patch(id string, change map[string]any) subscription {
	c.t.Helper()
	status, sub, data := c.ask("PATCH", "/v1/subscriptions/"+id, change)
	if status != http.StatusOK {
		c.t.Fatalf("PATCH %v: %d %s", change, status, data)
	}
	return sub
}

func (c *client) ask(method, path string, ask map[string]any) (status int, sub subscription, data []byte) {
	c.t.Helper()
	body, err := json.Marshal(ask)
	if err != nil {
		c.t.Fatal(err)
	}
	status, _, data = c.do(method, path, one, string(body))
	if err := json.Unmarshal(data, &sub); err != nil && status < 300 {
		c.t.Fatalf("%s %s: %d %s: %v", method, path, status, data, err)
	}
	return status, sub, data
}

// row is one line of the statistics.
type row struct {
	ID, State                                                    string
	Accepted, Delivered, Retried, Dead, Refused, Purged, Pending int
	Letters                                                      int `json:"dead_letters"`
}

type stats struct {
	row
	Durable       *bool
	Seq           uint64
	Subscriptions []row
}

// of returns a subscription's line.
func (s stats) of(id string) row {
	for _, r := range s.Subscriptions {
		if r.ID == id {
			return r
		}
	}
	return row{}
}

func (c *client) stats() stats {
	c.t.Helper()
	return get[stats](c, "/v1/stats")
}

// quiet waits until nothing is pending and checks that the figures add up.
func (c *client) quiet() stats {
	c.t.Helper()
	var s stats
	await(c.t,

		func() string { return fmt.Sprintf("nothing to be pending: %+v", s) }, func() bool {
			s = c.stats()
			return s.Pending == 0
		})

	return c.sums()
}

// sums checks that the figures add up, in total and by subscription, at a moment when nothing
// moves.
func (c *client) sums() stats {
	c.t.Helper()
	s := c.stats()
	for _, r := range append(s.Subscriptions, s.row) {
		if r.Accepted != r.Delivered+r.Dead+r.Pending {
			c.t.Fatalf("accepted %d is not delivered %d + dead %d + pending %d (%+v)", r.Accepted, r.Delivered, r.Dead, r.Pending, r)
		}
	}
	return s
}

// warm posts notices that a receiver takes, because a program may begin slowly with one it does not
// know.
func (c *client) warm() (deliveries int) {
	c.t.Helper()
	var ns []string
	for i := range 64 {
		ns = append(ns, notice(fmt.Sprintf("warm%d", i), fmt.Sprintf("warm%d", i), "t", "1"))
	}
	deliveries = c.post(batch, lines(ns...)).Deliveries
	c.quiet()
	return deliveries
}

// notice writes a notice as JSON.
func notice(id, key, kind, payload string) string {
	return fmt.Sprintf(`{"id":%q,"key":%q,"type":%q,"payload":%s}`, id, key, kind, payload)
}

// series writes notices PREFIX000, PREFIX001, ..., over some keys.
func series(prefix string, n, keys int) []string {
	var out []string
	for i := range n {
		out = append(out, notice(fmt.Sprintf("%s%03d", prefix, i), fmt.Sprintf("k%d", i%keys), "t", fmt.Sprint(i)))
	}
	return out
}

// lines joins notices to a batch.
func lines(notices ...string) string { return strings.Join(notices, "\n") + "\n" }

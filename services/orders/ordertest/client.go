package ordertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"dyno/parts/servicetest"
	"dyno/services/orders/postgres/pgtest"
)

// client is a program under test, a way to talk to it, and one past it to its database.
type client struct {
	scope
	t       testing.TB
	env     Env
	program Program
	ring    *ring
	db      *pgxpool.Pool
	http    *http.Client
	name    string // what the names of this test's accounts begin with

	// database makes a database of the test's own, empty or prepared by an earlier start.
	database func(testing.TB) (dsn string)

	stopped *atomic.Bool
}

// open starts a program over a database of its own.
func open(t testing.TB, s scope) *client {
	c := &client{t: t, scope: s, env: env, name: "s", database: pgtest.Database}
	c.run()
	return c
}

// run starts the program, over the database and the keys that the environment names or over new
// ones.
func (c *client) run() {
	c.t.Helper()
	direct := c.env.DSN
	if direct == "" {
		direct = c.database(c.t)
		c.env.DSN = direct
	}
	c.runOver(direct)
}

// runOver starts the program, whose database can be reached past whatever the environment says.
func (c *client) runOver(direct string) {
	c.t.Helper()
	if c.ring == nil {
		c.ring = newRing(c.t)
		c.env.Keys = c.ring.file
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	c.http = &http.Client{Transport: transport, Timeout: patience}
	c.program, c.stopped = c.start(c.t, c.env), new(atomic.Bool)
	var err error
	if c.db, err = pgxpool.New(context.Background(), direct); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		transport.CloseIdleConnections()
		c.stop()
		c.db.Close()
	})
}

// stop ends the program, unless it has ended.
func (c *client) stop() {
	if c.stopped.CompareAndSwap(false, true) {
		c.program.Stop()
	}
}

var names atomic.Int64

// with lends the program to another test, which gets accounts that no other has.
func (c *client) with(t testing.TB) *client {
	lent := *c
	lent.t, lent.name = t, fmt.Sprintf("t%d", names.Add(1))
	return &lent
}

// account names an account of this test.
func (c *client) account(which any) string { return fmt.Sprintf("%s.%v", c.name, which) }

// reply is what the program answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) String() string { return fmt.Sprintf("%d %v %q", r.status, r.header, r.body) }

// request is what a test sends; the zero value of a field sends nothing.
type request struct {
	method string // "": GET
	path   string
	token  string
	kind   string // Content-Type
	body   string
	header map[string]string
}

func (q request) verb() string {
	if q.method == "" {
		return http.MethodGet
	}
	return q.method
}

// try sends a request; an error when there is no answer.
func (c *client) try(q request) (r reply, err error) {
	header := http.Header{}
	if q.token != "" {
		header.Set("Authorization", "Bearer "+q.token)
	}
	if q.kind != "" {
		header.Set("Content-Type", q.kind)
	}
	for name, value := range q.header {
		header.Set(name, value)
	}
	resp, body, err := servicetest.Exchange(c.http, q.verb(), c.program.URL+q.path, q.body, header)
	if err != nil {
		return r, err
	}
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// do sends a request.
func (c *client) do(q request) reply {
	c.t.Helper()
	r, err := c.try(q)
	if err != nil {
		c.t.Fatalf("%s %s: %v", q.verb(), q.path, err)
	}
	return r
}

// get asks for something as an account.
func (c *client) get(account, path string) reply {
	c.t.Helper()
	return c.do(request{path: path, token: c.ring.token(account)})
}

// problem is what the program says when it refuses something.
type problem struct {
	Error string
	Field string
}

// refused checks that an answer is an error of that status, in JSON. A field of "-" may be any but
// none.
func (c *client) refused(r reply, status int, field string) {
	c.t.Helper()
	var p problem
	decoder := json.NewDecoder(strings.NewReader(string(r.body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || r.status != status || p.Error == "" {
		c.t.Fatalf("%s, want %d and an error in JSON", r, status)
	}
	if p.Field != field && (field != "-" || p.Field == "") {
		c.t.Fatalf("%s, want field %q", r, field)
	}
	if kind := r.header.Get("Content-Type"); kind != "application/json" {
		c.t.Fatalf("an error of type %q", kind)
	}
	if later := r.header.Get("Retry-After"); (status == http.StatusServiceUnavailable) != (later != "") {
		c.t.Fatalf("%d with Retry-After %q", status, later)
	}
}

// order is an order as answers show it.
type order struct {
	UID        int64      `json:"uid"`
	Account    string     `json:"account"`
	Symbol     string     `json:"symbol"`
	Side       string     `json:"side"`
	Price      string     `json:"price"`
	Qty        string     `json:"qty"`
	Filled     string     `json:"filled"`
	Status     string     `json:"status"`
	Version    int64      `json:"version"`
	UpdatedAt  time.Time  `json:"updated_at"`
	StaleSince *time.Time `json:"stale_since"`
}

// read decodes an answer of that status.
func read[T any](c *client, r reply, status int) (v T) {
	c.t.Helper()
	if err := json.Unmarshal(r.body, &v); err != nil || r.status != status {
		c.t.Fatalf("%s, want %d: %v", r, status, err)
	}
	return v
}

func orderPath(uid int64) string { return fmt.Sprintf("/api/v1/order?uid=%d", uid) }

// order asks for an order of an account, which is there.
func (c *client) order(account string, uid int64) order {
	c.t.Helper()
	return read[order](c, c.get(account, orderPath(uid)), http.StatusOK)
}

// field is the one that an error blames, for where the contract does not say which.
func (r reply) field() string {
	var p problem
	json.Unmarshal(r.body, &p) // what is no error has none
	return p.Field
}

// order decodes an answer that has one.
func (r reply) order() (o order, err error) {
	if r.status != http.StatusOK {
		return o, fmt.Errorf("status %d", r.status)
	}
	return o, json.Unmarshal(r.body, &o)
}

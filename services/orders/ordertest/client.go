package ordertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"dyno/parts/servicetest"
	"dyno/services/orders/pgtest"
)

// Client is a program under test, a way to talk to it, and one past it to its database.
type Client struct {
	Scope
	T       testing.TB
	Env     Env
	Program Program
	Ring    *ring
	DB      *pgxpool.Pool
	HTTP    *http.Client
	name    string // what the names of this test's accounts begin with

	// database makes a database of the test's own, empty or prepared by an earlier start.
	database func(testing.TB) (dsn string)

	stopped *atomic.Bool
}

// open starts a program over a database of its own.
func open(t testing.TB, s Scope) *Client {
	c := &Client{T: t, Scope: s, Env: Usual, name: "s", database: pgtest.Database}
	c.Run()
	return c
}

// Run starts the program, over the database and the keys that the environment names or over new
// ones.
func (c *Client) Run() {
	c.T.Helper()
	direct := c.Env.DSN
	if direct == "" {
		direct = c.database(c.T)
		c.Env.DSN = direct
	}
	c.runOver(direct)
}

// runOver starts the program, whose database can be reached past whatever the environment says.
func (c *Client) runOver(direct string) {
	c.T.Helper()
	if c.Ring == nil {
		c.Ring = newRing(c.T)
		c.Env.Keys = c.Ring.file
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	c.HTTP = &http.Client{Transport: transport, Timeout: Patience}
	c.Program, c.stopped = c.Start(c.T, c.Env), new(atomic.Bool)
	var err error
	if c.DB, err = pgxpool.New(context.Background(), direct); err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		transport.CloseIdleConnections()
		c.Stop()
		c.DB.Close()
	})
}

// Stop ends the program, unless it has ended.
func (c *Client) Stop() {
	if c.stopped.CompareAndSwap(false, true) {
		c.Program.Stop()
	}
}

var names atomic.Int64

// with lends the program to another test, which gets accounts that no other has.
func (c *Client) with(t testing.TB) *Client {
	lent := *c
	lent.T, lent.name = t, fmt.Sprintf("t%d", names.Add(1))
	return &lent
}

// Account names an account of this test.
func (c *Client) Account(which any) string { return fmt.Sprintf("%s.%v", c.name, which) }

// Reply is what the program answered.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

func (r Reply) String() string { return fmt.Sprintf("%d %v %q", r.Status, r.Header, r.Body) }

// Request is what a test sends; the zero value of a field sends nothing.
type Request struct {
	Method string // "": GET
	Path   string
	Token  string
	Kind   string // Content-Type
	Body   string
	Header map[string]string
}

func (q Request) Verb() string {
	if q.Method == "" {
		return http.MethodGet
	}
	return q.Method
}

// Try sends a request; an error when there is no answer.
func (c *Client) Try(q Request) (r Reply, err error) {
	header := http.Header{}
	if q.Token != "" {
		header.Set("Authorization", "Bearer "+q.Token)
	}
	if q.Kind != "" {
		header.Set("Content-Type", q.Kind)
	}
	for name, value := range q.Header {
		header.Set(name, value)
	}
	resp, body, err := servicetest.Exchange(c.HTTP, q.Verb(), c.Program.URL+q.Path, q.Body, header)
	if err != nil {
		return r, err
	}
	return Reply{resp.StatusCode, resp.Header, body}, nil
}

// Do sends a request.
func (c *Client) Do(q Request) Reply {
	c.T.Helper()
	r, err := c.Try(q)
	if err != nil {
		c.T.Fatalf("%s %s: %v", q.Verb(), q.Path, err)
	}
	return r
}

// Get asks for something as an account.
func (c *Client) Get(account, path string) Reply {
	c.T.Helper()
	return c.Do(Request{Path: path, Token: c.Ring.Token(account)})
}

// problem is what the program says when it refuses something.
type problem struct {
	Error string
	Field string
}

// Refused checks that an answer is an error of that status, in JSON. A field of "-" may be any but
// none.
func (c *Client) Refused(r Reply, status int, field string) {
	c.T.Helper()
	var p problem
	decoder := json.NewDecoder(strings.NewReader(string(r.Body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || r.Status != status || p.Error == "" {
		c.T.Fatalf("%s, want %d and an error in JSON", r, status)
	}
	if p.Field != field && (field != "-" || p.Field == "") {
		c.T.Fatalf("%s, want field %q", r, field)
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		c.T.Fatalf("an error of type %q", kind)
	}
	if later := r.Header.Get("Retry-After"); (status == http.StatusServiceUnavailable) != (later != "") {
		c.T.Fatalf("%d with Retry-After %q", status, later)
	}
}

// Order is an order as answers show it.
type Order struct {
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

// Read decodes an answer of that status.
func Read[T any](c *Client, r Reply, status int) (v T) {
	c.T.Helper()
	if err := json.Unmarshal(r.Body, &v); err != nil || r.Status != status {
		c.T.Fatalf("%s, want %d: %v", r, status, err)
	}
	return v
}

func OrderPath(uid int64) string { return fmt.Sprintf("/api/v1/order?uid=%d", uid) }

// Order asks for an order of an account, which is there.
func (c *Client) Order(account string, uid int64) Order {
	c.T.Helper()
	return Read[Order](c, c.Get(account, OrderPath(uid)), http.StatusOK)
}

// Field is the one that an error blames, for where the contract does not say which.
func (r Reply) Field() string {
	var p problem
	json.Unmarshal(r.Body, &p) // what is no error has none
	return p.Field
}

// Order decodes an answer that has one.
func (r Reply) Order() (o Order, err error) {
	if r.Status != http.StatusOK {
		return o, fmt.Errorf("status %d", r.Status)
	}
	return o, json.Unmarshal(r.Body, &o)
}

// Page is the answer to a list.
type Page struct {
	Orders []Order `json:"orders"`
	Next   *string `json:"next"`
}

// ListPage asks for orders of an account.
func ListPage(c *Client, account string, query url.Values) Page {
	c.T.Helper()
	return Read[Page](c, c.Get(account, "/api/v1/orders?"+query.Encode()), http.StatusOK)
}

// Receipt is the answer to a submission.
type Receipt struct {
	UID           int64  `json:"uid"`
	ClientOrderID string `json:"client_order_id"`
	Status        string `json:"status"`
	Version       int64  `json:"version"`
	Duplicate     bool   `json:"duplicate"`
}

// Submit sends a message as an account.
func (c *Client) Submit(account, kind, body string) Reply {
	c.T.Helper()
	return c.Do(Request{Method: http.MethodPost, Path: "/api/v1/submit", Token: c.Ring.Token(account), Kind: kind, Body: body})
}

// Count counts an account's orders and its audit records, past the program.
func (c *Client) Count(account string) (orders, audits int) {
	c.T.Helper()
	both := Value[[]int](c, "SELECT ARRAY[(SELECT count(*) FROM orders WHERE account = $1), (SELECT count(*) FROM audit WHERE account = $1)]", account)
	return both[0], both[1] // of one snapshot
}

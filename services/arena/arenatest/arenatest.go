// Package arenatest drives a game server under test: its HTTP API, players over WebSocket in the
// subprotocol arena.v1.proto, and frames that no library sends. Its tests are in package core: what
// the load of arenad's ladder needs, and the plain program passes.
//
// It knows the contract only, so that it drives any program that keeps it; it moves and hashes with
// code of its own, never with that of a program under test. It is not for speed. Everything that a
// test starts has ended when the test has.
package arenatest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"dyno/parts/servicetest"
)

// Program is a running server, in a process of its own.
type Program struct {
	URL   string // of the public address, without a slash at the end
	Debug string // of the debug address

	Stop func() // drains and ends the program, which must exit with 0
}

// Start starts a server, which answers when it returns.
type Start func(t testing.TB) Program

// Case is a test of the suite. It makes rooms of its own.
type Case = func(*Client)

// Client is a program under test, and a way to talk to it.
type Client struct {
	T       testing.TB
	Program Program
	Token   string // that requests bring; "": none
}

// Run runs tests that share one program.
func Run(t *testing.T, start Start, tests map[string]Case) {
	t.Run("together", func(t *testing.T) {
		p := start(t)
		t.Cleanup(p.Stop)
		servicetest.Parallel(t, tests, func(t *testing.T, run Case) { run(&Client{T: t, Program: p}) })
	})
}

// Call sends a request with a JSON body and reads the answer's JSON. It returns the status.
func (c *Client) Call(method, path, body string, to any) int {
	c.T.Helper()
	header := http.Header{"Content-Type": {"application/json"}}
	if c.Token != "" {
		header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, text, err := servicetest.Exchange(http.DefaultClient, method, c.Program.URL+path, body, header)
	if err != nil {
		c.T.Fatal(err)
	}
	if to != nil {
		if err := json.Unmarshal(text, to); err != nil {
			c.T.Fatalf("%s %s: status %d, %v in %s", method, path, resp.StatusCode, err, text)
		}
	}
	return resp.StatusCode
}

// Decode reads JSON.
func Decode(t testing.TB, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// Room makes a room, by the body of POST /v1/rooms, and returns its id.
func (c *Client) Room(body string) string {
	c.T.Helper()
	var room struct{ ID string }
	if status := c.Call("POST", "/v1/rooms", body, &room); status != http.StatusOK || room.ID == "" {
		c.T.Fatalf("POST /v1/rooms %s: status %d, id %q", body, status, room.ID)
	}
	return room.ID
}

// Listed is a room in the answer of GET /v1/rooms.
type Listed struct {
	ID                                      string
	Players, Capacity, Tick, Hz, Spectators int
}

// Listed returns what GET /v1/rooms says of a room.
func (c *Client) Listed(id string) Listed {
	c.T.Helper()
	var rooms []Listed
	c.Call("GET", "/v1/rooms", "", &rooms)
	for _, r := range rooms {
		if r.ID == id {
			return r
		}
	}
	c.T.Fatalf("GET /v1/rooms has no room %q: %+v", id, rooms)
	return Listed{}
}

func (c *Client) socketURL() string { return "ws" + strings.TrimPrefix(c.Program.URL, "http") + "/ws" }

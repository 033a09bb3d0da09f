// Package chaintest drives a chain node under test: a client of its JSON-RPC over HTTP, in arrays
// and over WebSocket, the keys of the development chain, and transactions signed with them. Its
// tests are in package core, what the load of chaind's ladder needs and the plain program passes.
//
// It knows the API only, so that it drives any program that keeps the contract, however it seals.
// It makes keys, signatures and hashes with go-ethereum, never with code of a program under test.
// It is not for speed. Everything that a test starts has ended when the test has.
package chaintest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/servicetest"
)

// ChainID is that of the development chain.
const ChainID = 1337

// Env is what a test asks of the program.
type Env struct {
	Data     string        // folder of the chain; empty at the first start
	LameDuck time.Duration // for which it goes on answering when it receives SIGTERM
}

// Program is a running node, in a process of its own.
type Program struct {
	URL   string // of the public address, without a slash at the end
	Debug string // of the debug address; it has /readyz

	Stop func() // drains and ends the program, which must exit with 0
	Kill func() // ends it with SIGKILL
}

// Start starts a node, which answers when it returns.
type Start func(t testing.TB, e Env) Program

// Case is a test of the suite. One that shares the program uses accounts of its own (NewAccount).
type Case = func(*Client)

// Client is a program under test, and a way to talk to it.
type Client struct {
	T       testing.TB
	Program Program
	Env     Env
	start   Start
	http    *http.Client
	running *atomic.Bool
	purse   *purse
}

// purse is the account that pays for the accounts of tests.
type purse struct {
	mu   sync.Mutex
	from *Account
}

func newClient(t testing.TB, start Start) *Client {
	c := &Client{T: t, start: start, Env: Env{Data: t.TempDir()}, running: new(atomic.Bool),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: servicetest.Patience}}
	c.purse = &purse{from: &Account{Key: DevelopmentKeys()[0]}}
	t.Cleanup(func() {
		c.http.CloseIdleConnections()
		c.Stop()
	})
	return c
}

// Together runs tests that share one program.
func Together(t *testing.T, start Start, tests map[string]Case) {
	t.Run("together", func(t *testing.T) {
		shared := newClient(t, start)
		shared.Run()
		servicetest.Parallel(t, tests, func(t *testing.T, run Case) {
			lent := *shared
			lent.T = t
			run(&lent)
		})
	})
}

// Alone runs tests that each start programs over a folder of their own, and do with them as they
// please.
func Alone(t *testing.T, start Start, tests map[string]Case) {
	t.Run("alone", func(t *testing.T) {
		servicetest.Parallel(t, tests, func(t *testing.T, run Case) { run(newClient(t, start)) })
	})
}

// Run starts the program over the folder, as the last one left it.
func (c *Client) Run() {
	c.T.Helper()
	c.Program = c.start(c.T, c.Env)
	c.running.Store(true)
}

// Stop drains and ends the program, unless it has ended.
func (c *Client) Stop() {
	if c.running.CompareAndSwap(true, false) {
		c.Program.Stop()
	}
}

// Kill ends the program with SIGKILL.
func (c *Client) Kill() {
	if c.running.CompareAndSwap(true, false) {
		c.Program.Kill()
		c.http.CloseIdleConnections()
	}
}

// Package ordertest drives an order gateway under test: a client of its contract, keys and tokens,
// messages, and the database behind it. Its tests are in packages core, what the load of ordersd's
// ladder needs and the plain program passes, and full, the rest of the contract.
//
// It talks HTTP to the program and SQL to the database, so that it drives any program that keeps
// the contract, however it is put together. It makes its own keys and tokens, so that the code that
// verifies tokens is not checked by the code that issues them. It is not for speed, and not for
// what killed databases do to a program (package soak). Everything that a test starts has ended
// when the test has.
package ordertest

import (
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/orders/pgtest"
)

// Env is what a test asks of the program.
type Env struct {
	DSN              string // of a database, empty or prepared by an earlier start
	Keys             string // file with a JWKS
	Audience, Issuer string
	Foreign          string        // status of the answer for another account's order: "404", or "403"
	Leeway           time.Duration // by which the clock of the issuer of tokens may be off
	Reload           time.Duration // after which a changed file of keys counts, at the latest

	// Timeout is of what the database does for one request.
	Timeout time.Duration

	// Client is within which a client must have sent its request. A program whose own bound is fixed
	// may keep that, if it is below Patience.
	Client time.Duration

	LameDuck time.Duration // for which it goes on answering when it receives SIGTERM

	Drain time.Duration // for the requests under way when it receives SIGTERM

	AllowOrigin string // whose pages may call
}

// Usual is the suite's own, unless a test says otherwise.
var Usual = Env{
	Audience: "orders", Issuer: "https://issuer.test", Foreign: "404",
	Leeway: time.Second, Reload: 10 * time.Millisecond, Timeout: 10 * time.Second, Client: 10 * time.Second, Drain: 20 * time.Second,
	AllowOrigin: "https://shop.example",
}

// Program is a running gateway.
type Program struct {
	URL   string // of the public address, without a slash at the end
	Debug string // of the debug address; it has /readyz

	// Stop drains and ends the program. The suite calls it once.
	Stop func()
}

// Start starts a gateway, whose tables are there when it returns.
type Start func(t testing.TB, e Env) Program

// Scope is a program and the part of the contract that it keeps.
type Scope struct {
	Start   Start
	Lists   bool                            // GET /api/v1/orders
	Formats map[string]func(Message) string // of submissions, by Content-Type
}

// Case is one of the suite: it may use the program for accounts of its own (Client.Account).
type Case = func(*Client)

// Together runs tests that share one program.
func Together(t *testing.T, s Scope, tests map[string]Case) {
	t.Run("together", func(t *testing.T) {
		shared := open(t, s)
		servicetest.Parallel(t, tests, func(t *testing.T, run Case) { run(shared.with(t)) })
	})
}

// Alone runs tests that each have a program and a database, and do with them as they please. The
// database was prepared by an earlier start; Together's was empty.
func Alone(t *testing.T, s Scope, tests map[string]Case) {
	t.Run("alone", func(t *testing.T) {
		prepared := pgtest.NewTemplate(func(t testing.TB, dsn string) {
			e := Usual
			e.DSN, e.Keys = dsn, newRing(t).file
			s.Start(t, e).Stop()
		})
		servicetest.Parallel(t, tests, func(t *testing.T, run Case) {
			run(&Client{T: t, Scope: s, Env: Usual, name: "a", database: prepared.Database})
		})
	})
}

// Patience bounds every request; it is reached only when a test fails.
const Patience = 45 * time.Second

// Await returns when done is true.
func Await(t testing.TB, what string, done func() bool) {
	t.Helper()
	servicetest.Await(t, func() string { return what }, done)
}

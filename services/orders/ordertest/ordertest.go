// Package ordertest is the black-box suite of the order gateway: what any program must do that
// keeps its client contract, however it is put together. It talks HTTP to the program and SQL to
// the database behind it. Core is what the load of ordersd's ladder needs, and what the plain
// program passes: queries of one order, and submissions in JSON. Every assembly of ordersd passes
// Test, which is the same with all formats and lists, and the rest of the contract.
//
// It makes its own keys and tokens, so that the code that verifies tokens is not checked by the
// code that issues them. It is not for speed, and not for what killed databases do to a program
// (package soak). Everything that a test starts has ended when the test has.
package ordertest

import (
	"testing"
	"time"

	"dyno/parts/servicetest"
	"dyno/services/orders/postgres/pgtest"
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
	// may keep that, if it is below patience.
	Client time.Duration

	LameDuck time.Duration // for which it goes on answering when it receives SIGTERM

	Drain time.Duration // for the requests under way when it receives SIGTERM

	AllowOrigin string // whose pages may call
}

// env is the suite's own, unless a test says otherwise.
var env = Env{
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

// Core runs what the load of the ladder needs: every program passes it, the plain one too.
func Core(t *testing.T, start Start) {
	core(t, scope{start, false, map[string]func(message) string{typeJSON: message.json}})
}

func core(t *testing.T, s scope) {
	together(t, s, map[string]test{
		"answers an order":                       answersOrder,
		"writes decimals as they are":            writesDecimals,
		"refuses bad queries":                    refusesQueries,
		"knows no such order":                    knowsNone,
		"hides foreign orders":                   hidesForeign,
		"shows versions by ETag":                 tellsVersions,
		"waits for no version":                   refusesVersionsToCome,
		"answers HEAD without a body":            answersHead,
		"refuses other sites' pages":             refusesPages,
		"takes submissions":                      takesSubmissions,
		"takes a submission once":                takesOnce,
		"takes a submission once from many":      takesOnceFromMany,
		"keeps ids of accounts apart":            keepsAccountsApart,
		"refuses an id with other content":       refusesOtherContent,
		"refuses messages for other accounts":    refusesForeignMessages,
		"refuses what is no message":             refusesMessages,
		"refuses formats":                        refusesFormats,
		"refuses long messages":                  refusesLong,
		"asks for a token":                       asksForToken,
		"takes tokens of each algorithm":         takesTokens,
		"refuses forged tokens":                  refusesForged,
		"a token expires":                        tokenExpires,
		"bounds headers":                         boundsHeaders,
		"answers pipelined requests in order":    answersPipelined,
		"refuses two lengths":                    refusesTwoLengths,
		"keeps accounts apart on one connection": keepsConnectionsApart,
		"never gives a foreign answer":           neverForeign,
		"shows what was committed":               showsCommitted,
		"shows what it acknowledged":             showsAcknowledged,
	})
	alone(t, s, map[string]test{
		"admits foreign orders if asked": tellsForeign,
		"rotates keys":                   rotatesKeys,
		"an order and its audit are one": auditsOrNot,
		"says that the database is away": saysAway,
		"says that the database hangs":   saysHanging,
		"gives up on a slow database":    givesUp,
		"leaves nothing of gone clients": abandoned,
		"answers what is under way":      answersUnderWay,
	})
}

// Test runs Core with lists and all formats of messages, and the rest of the contract.
func Test(t *testing.T, start Start) {
	s := scope{start, true, formats}
	core(t, s)
	together(t, s, map[string]test{
		"refuses other methods and paths":  refusesMethods,
		"lists the newest first":           listsNewest,
		"lists by status":                  listsByStatus,
		"lists all while orders are added": listsAll,
		"lists own orders only":            listsOwn,
		"refuses bad lists":                refusesLists,
		"refuses dangerous XML":            refusesXML,
		"refuses broken FIX":               refusesFIX,
		"its tables keep what has ended":   keepsEnded,
		"answers in msgpack":               answersMsgpack,
		"negotiates formats":               negotiates,
		"compresses what is long":          compresses,
	})
	alone(t, s, map[string]test{"answers stale only if asked": answersStale})
}

// SlowSenders runs what a program must do about clients that take too long to send. It takes as
// long as the program's own bounds (Env.Client), and says something of its HTTP server only: once
// for each server is enough.
func SlowSenders(t *testing.T, start Start) {
	alone(t, scope{start: start}, map[string]test{"slow": boundsSlow})
}

// SlowReaders is the same about clients that do not read the answer to a list.
func SlowReaders(t *testing.T, start Start) {
	alone(t, scope{start: start}, map[string]test{"unread": boundsUnread})
}

// Stops runs what a program must do when it receives SIGTERM. It says something of its HTTP server
// only: once for each server is enough.
func Stops(t *testing.T, start Start) {
	alone(t, scope{start: start}, map[string]test{"stops": losesNone})
}

// scope is a program and the part of the contract that it keeps.
type scope struct {
	start   Start
	lists   bool                            // GET /api/v1/orders
	formats map[string]func(message) string // of submissions, by Content-Type
}

// test is one of the suite: it may use the program for accounts of its own (client.account).
type test = func(*client)

// together runs tests that share one program.
func together(t *testing.T, s scope, tests map[string]test) {
	t.Run("together", func(t *testing.T) {
		shared := open(t, s)
		servicetest.Parallel(t, tests, func(t *testing.T, run test) { run(shared.with(t)) })
	})
}

// alone runs tests that each have a program and a database, and do with them as they please. The
// database was prepared by an earlier start; together's was empty.
func alone(t *testing.T, s scope, tests map[string]test) {
	t.Run("alone", func(t *testing.T) {
		prepared := pgtest.NewTemplate(func(t testing.TB, dsn string) {
			e := env
			e.DSN, e.Keys = dsn, newRing(t).file
			s.start(t, e).Stop()
		})
		servicetest.Parallel(t, tests, func(t *testing.T, run test) {
			run(&client{t: t, scope: s, env: env, name: "a", database: prepared.Database})
		})
	})
}

// patience bounds every request; it is reached only when a test fails.
const patience = 45 * time.Second

// await returns when done is true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	servicetest.Await(t, func() string { return what }, done)
}

// Package notifytest is the black-box suite of the notification dispatcher: what any program must
// do that offers its API, however it is put together. It talks HTTP only. Core is what the load of
// notifyd's ladder needs, and what the plain program passes; every assembly of notifyd passes Test,
// which is Core and the rest of the API. Push and Isolation are for programs that offer streams and
// keep subscribers apart.
//
// It is not for speed. Everything that a test starts has ended when the test has.
package notifytest

import (
	"testing"
	"time"

	"dyno/parts/servicetest"
)

// Limits are what a test asks of the program, tighter than one would run it with. Zero: the
// program's own.
type Limits struct {
	// Pending is after how many deliveries that wait, with notices of 1 KiB, the program refuses more.
	// One that bounds bytes or age instead of numbers may do so at up to 100 times as many.
	Pending int

	Attempts     int // of one notice
	Backoff      time.Duration
	MaxBackoff   time.Duration
	Timeout      time.Duration // of an attempt
	Drain        time.Duration
	Overlap      time.Duration // for which a replaced secret goes on signing
	Workers      int
	AllowPrivate bool
	AllowOrigin  string // whose pages may call; "": none but the program's own
}

// limits are the suite's own, unless a test says otherwise.
var limits = Limits{
	Pending: 10_000, Attempts: 4, Backoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	Timeout: 10 * time.Second, Drain: 10 * time.Second, Overlap: time.Hour, AllowPrivate: true,
}

// brief leaves behind what is not delivered immediately when the program stops.
func (l Limits) brief() Limits {
	l.Drain = 20 * time.Millisecond
	return l
}

// Program is a running dispatcher. The suite calls Stop or Kill once.
type Program struct {
	URL string

	// Stop drains within Limits.Drain, ends the program, and says how many deliveries are left for the
	// next start.
	Stop func() (left int)

	// Kill ends it immediately: nothing is drained, and nothing is written that has not been
	// acknowledged. Nil: it cannot be done.
	Kill func()
}

// Start starts a dispatcher over a folder, which is empty or holds what an earlier start left
// there.
type Start func(t testing.TB, dir string, l Limits) Program

// Core runs what the load of the ladder needs: every program passes it, the plain one too.
func Core(t *testing.T, start Start) {
	run(t, start, map[string]test{
		"delivers":                        delivers,
		"refuses other sites' pages":      refusesPages,
		"allows listed pages":             allowsPages,
		"numbers notices":                 numbers,
		"takes a batch whole or not":      takesWhole,
		"refuses beyond its bound":        refusesBeyond,
		"takes an id once":                takesOnce,
		"takes an id once from many":      takesOnceFromMany,
		"an id for one notice, from many": refusesOtherFromMany,
		"keeps order through failures":    keepsOrder,
		"one in flight per key":           oneInFlight,
		"keys do not block one another":   keysDoNotBlock,
		"gives up after its attempts":     givesUp,
		"follows no redirect":             followsNoRedirect,
		"guards against private targets":  guards,
		"survives kills while it is busy": survivesKills,
		"refuses what is no notice":       refusesBad(false),
	})
	restarts(t, start, map[string]durable{
		"notices survive":            noticesSurvive,
		"order survives":             orderSurvives,
		"ids taken once survive":     idsSurvive,
		"posts between them survive": postsBetweenSurvive,
	})
}

// Test runs Core, and the rest of the API but for streams.
func Test(t *testing.T, start Start) {
	Core(t, start)
	run(t, start, map[string]test{
		"filters by type":               filters,
		"says what is wrong":            refusesBad(true),
		"takes an Idempotency-Key once": takesKeyOnce,
		"names the bad lines":           namesBadLines,
		"refuses in JSON":               refusesInJSON,
		"an id stands for one notice":   refusesOther,
		"forwards traceparent":          forwardsTrace,
		"honours Retry-After":           honoursRetryAfter,
		"410 disables":                  goneDisables,
		"hides addresses":               hidesAddresses,
		"shows a secret once":           showsSecretOnce,
		"rotates secrets":               rotates,
		"forgets replaced secrets":      forgetsSecrets,
		"manages subscriptions":         manages,
		"changes subscriptions":         changes,
		"lists page by page":            pages,
		"deleting gives up":             deletingGivesUp,
		"lists dead letters":            listsDead,
		"replays dead letters":          replays,
		"replays again what dies again": replaysAgain,
		"purges dead letters":           purges,
		"delivers what the model says":  matchesModel,
		"adds up":                       addsUp,
		"batches":                       batches,
		"drains":                        drains,
		"drains within its bound":       drainsBounded,
		"attempts survive a restart":    attemptsSurvive,
		"counts survive a restart":      countsSurvive,
		"hides private targets":         hidesGuarded,
	})
	restarts(t, start, map[string]durable{
		"subscriptions survive": subscriptionsSurvive,
		"dead letters survive":  lettersSurvive,
		"a replay survives":     replaySurvives,
		"deleting survives":     deletingSurvives,
		"details survive":       detailsSurvive,
	})
}

// Push runs the tests of the streams: GET /v1/stream and GET /v1/ws.
func Push(t *testing.T, start Start) {
	run(t, start, map[string]test{
		"streams from now on":        streams,
		"streams by type":            streamsByType,
		"resumes a stream":           resumes,
		"resumes after a restart":    resumesAfterRestart,
		"resumes from another log":   resumesElsewhere,
		"refuses bad streams":        refusesStreams,
		"refuses streams to pages":   refusesStreamsToPages,
		"sends over WebSocket":       sendsMessages,
		"resumes over WebSocket":     resumesMessages,
		"a stream ends at its close": endsStreams,
	})
}

// Isolation runs the tests of a program that keeps its subscribers apart. They decide by numbers of
// webhooks, never by time.
func Isolation(t *testing.T, start Start) {
	run(t, start, map[string]test{
		"one that hangs holds up no other": hangingAlone,
		"holds the concurrency asked for":  holdsConcurrency,
		"holds the rate asked for":         holdsRate,
		"429 throttles a subscription":     throttles(429),
		"502 throttles a subscription":     throttles(502),
		"504 throttles a subscription":     throttles(504),
		"breaks the circuit":               breaksCircuit,
	})
}

type test = func(*testing.T, Start)

const patience = servicetest.Patience // bounds every wait
var await = servicetest.Await

func run(t *testing.T, start Start, tests map[string]test) {
	servicetest.Parallel(t, tests, func(t *testing.T, run test) { run(t, start) })
}

// Package notifytest drives a notification dispatcher under test: a client of its API, a receiver
// of its webhooks, and runners of tests. Its tests are in packages core (what the load of notifyd's
// ladder needs, and the plain program passes), full (the rest of the API) and push (streams).
//
// It talks HTTP only, so that it drives any program that offers the API, however it is put
// together. It is not for speed. Everything that a test starts has ended when the test has.
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

// Usual are the suite's own, unless a test says otherwise.
var Usual = Limits{
	Pending: 10_000, Attempts: 4, Backoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	Timeout: 10 * time.Second, Drain: time.Minute, Overlap: time.Hour, AllowPrivate: true,
}

// Brief leaves behind what is not delivered immediately when the program stops.
func (l Limits) Brief() Limits {
	l.Drain = 20 * time.Millisecond
	return l
}

// Listed is an origin whose pages may call, where a test says so.
const Listed = "https://shop.example"

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

// Case is a test of the suite.
type Case = func(*testing.T, Start)

// Run runs tests in parallel, each with a program of its own.
func Run(t *testing.T, start Start, tests map[string]Case) {
	servicetest.Parallel(t, tests, func(t *testing.T, run Case) { run(t, start) })
}

// Durable is a test of what outlives the process. restart ends the program, in one way or the
// other, and starts it again over the same folder: twice, since a start may write anew what it
// read.
type Durable func(t *testing.T, c *Client, restart func())

// Restarts runs tests with a program that is stopped and with one that is killed.
func Restarts(t *testing.T, start Start, tests map[string]Durable) {
	for name, test := range tests {
		for _, kill := range []bool{false, true} {
			how := map[bool]string{false: "a stop", true: "a kill"}[kill]
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				c := Open(t, start, Usual.Brief())
				if kill && c.Program.Kill == nil {
					t.Skip("this program cannot be killed in a test")
				}
				test(t, c, func() {
					c.Restart(kill)
					c.Restart(kill)
				})
			})
		}
	}
}

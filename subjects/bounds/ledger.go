package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"dyno/subjects/bounds/suite"
)

var ledger = suite.Entry{
	Name: "mutex-work", Family: "lock", Truth: "lock", Kind: "mutex", Function: "main.(*accounts).book",
	InWords: "each request computes while it holds the one mutex of all accounts, and a little outside of it",
	Method:  "GET", Path: "/post", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "half as many hashes under the lock, and beside it", Scale: map[string]float64{"rounds": 0.5}, Bound: 0.5, CPU: 0.5, Compute: "main.stretch"}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		// At least 80% inside: two cores would otherwise have enough to do outside of it.
		rounds, inside := d.Between("rounds", 4_000, 10_000), d.Between("inside_percent", 80, 95)
		a := &accounts{inside: rounds * inside / 100, outside: rounds - rounds*inside/100, sums: map[byte]int{}}
		return func() (*suite.Service, error) { return suite.Serving("GET /post", a.post), nil }
	},
}

// accounts books requests one after the other.
type accounts struct {
	inside, outside int // rounds

	mu     sync.Mutex
	booked int
	sums   map[byte]int
}

func (a *accounts) post(w http.ResponseWriter, r *http.Request) {
	document := stretch([]byte(r.RemoteAddr), a.outside)
	fmt.Fprintf(w, "entry %d\n", a.book(document[:]))
}

func (a *accounts) book(document []byte) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	seal := stretch(document, a.inside)
	a.booked++
	a.sums[seal[0]]++
	return a.booked
}

var audit = suite.Entry{
	Name: "mutex-block", Family: "lock", Truth: "lock", Kind: "mutex", Function: "main.(*auditor).note",
	InWords: "each request waits for a slow device while it holds a mutex; next to nothing is computed",
	Method:  "GET", Path: "/note", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "the lock is held half as long", Scale: map[string]float64{"write_us": 0.5}, Bound: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		a := &auditor{tape: tape{d.Micros("write_us", 1_000, 4_000)}}
		return func() (*suite.Service, error) { return suite.Serving("GET /note", a.note), nil }
	},
}

// tape is a slow device that does not show its reason.
type tape struct{ takes time.Duration }

func (t tape) write(string) { time.Sleep(t.takes) }

// auditor notes every visit on a tape that takes one note at a time.
type auditor struct {
	mu    sync.Mutex
	tape  tape
	notes int
}

func (a *auditor) note(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes++
	a.tape.write(r.RemoteAddr)
	fmt.Fprintf(w, "note %d\n", a.notes)
}

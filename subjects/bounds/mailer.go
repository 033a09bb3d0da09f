package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"dyno/subjects/bounds/suite"
)

var mailer = suite.Entry{
	Name: "timer", Family: "wait", Truth: "wait", Kind: "timer", OrKind: "channel", Function: "main.(*mailRoom).post",
	InWords: "each request waits for the next tick of some ms, and a tick takes only a few of them along",
	Method:  "GET", Path: "/post", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "a tick takes twice as many along", Scale: map[string]float64{"batch": 2}, Bound: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		every, most := d.Micros("tick_us", 5_000, 20_000), d.Between("batch", 3, 8)
		return func() (*suite.Service, error) {
			m := newMailRoom(every, most)
			return suite.ServingUntil("GET /post", m.post, m.close), nil
		}
	},
}

// mailRoom sends letters in bags that leave at regular times. close ends its goroutine.
type mailRoom struct {
	letters chan chan int
	stop    chan struct{}
	done    chan struct{}
}

func newMailRoom(every time.Duration, most int) *mailRoom {
	m := &mailRoom{make(chan chan int), make(chan struct{}), make(chan struct{})}
	go m.run(every, most)
	return m
}

func (m *mailRoom) run(every time.Duration, most int) {
	defer close(m.done)
	leaves := time.NewTicker(every)
	defer leaves.Stop()
	for bag := 1; ; bag++ {
		select {
		case <-leaves.C:
			m.send(bag, most)
		case <-m.stop:
			return
		}
	}
}

// send completes the waiting requests, up to the size of a batch.
func (m *mailRoom) send(bag, most int) {
	for range most {
		select {
		case sent := <-m.letters:
			sent <- bag
		default:
			return
		}
	}
}

func (m *mailRoom) post(w http.ResponseWriter, r *http.Request) {
	sent := make(chan int, 1)
	select {
	case m.letters <- sent:
		fmt.Fprintf(w, "went with bag %d\n", <-sent)
	case <-r.Context().Done():
	}
}

func (m *mailRoom) close() {
	close(m.stop)
	<-m.done
}

var turnstile = suite.Entry{
	Name: "ratelimit", Family: "wait", Truth: "wait", Kind: "timer", Function: "main.(*turns).wait",
	InWords: "each request sleeps until its turn: turns are some ms apart, however idle the server is",
	Method:  "GET", Path: "/enter", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "turns are half as far apart", Scale: map[string]float64{"apart_us": 0.5}, Bound: 0.5}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		t := &turns{apart: d.Micros("apart_us", 1_000, 4_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /enter", t.enter), nil }
	},
}

// turns admits one request at a time, at regular intervals.
type turns struct {
	apart time.Duration

	mu   sync.Mutex
	next time.Time
}

func (t *turns) enter(w http.ResponseWriter, r *http.Request) {
	if err := t.wait(r.Context()); err != nil {
		return // the client has gone
	}
	fmt.Fprintln(w, "welcome")
}

func (t *turns) wait(ctx context.Context) error {
	turn := time.NewTimer(time.Until(t.reserve()))
	defer turn.Stop()
	select {
	case <-turn.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve takes the next turn and returns its time.
func (t *turns) reserve() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.next.Before(now) {
		t.next = now
	}
	t.next = t.next.Add(t.apart)
	return t.next
}

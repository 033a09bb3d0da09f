package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"dyno/subjects/bounds/suite"
)

var flights = suite.Entry{
	Name: "singleflight", Family: "libraries", Truth: "wait", Kind: "timer", OrKind: "channel", Function: "main.(*rates).fetch",
	InWords: "each request takes the result of the fetch in progress, of which there is one at a time; a fetch waits for some hundred ms",
	Method:  "GET", Path: "/rates", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		r := &rates{takes: d.Micros("fetch_us", 100_000, 300_000)}
		return func() (*suite.Service, error) { return suite.Serving("GET /rates", r.show), nil }
	},
}

// rates answers with what one fetch at a time brings.
type rates struct {
	takes time.Duration
	group singleflight.Group
}

func (r *rates) show(w http.ResponseWriter, _ *http.Request) {
	value, _, _ := r.group.Do("rates", r.fetch)
	fmt.Fprintln(w, value)
}

func (r *rates) fetch() (any, error) {
	time.Sleep(r.takes)
	return "1.08", nil
}

var places = suite.Entry{
	Name: "semaphore", Family: "libraries", Truth: "wait", Kind: "pool", OrKind: "channel", Function: "main.(*studio).render",
	InWords: "each request takes one of few places of a weighted semaphore, and keeps it while it waits for some ms",
	Method:  "GET", Path: "/render", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		places, takes := d.Between("places", 1, 4), d.Micros("render_us", 3_000, 8_000)
		return func() (*suite.Service, error) {
			s := &studio{places: semaphore.NewWeighted(int64(places)), takes: takes}
			return suite.Serving("GET /render", s.render), nil
		}
	},
}

// studio renders a few pictures at a time, on a machine elsewhere.
type studio struct {
	places *semaphore.Weighted
	takes  time.Duration
}

func (s *studio) render(w http.ResponseWriter, r *http.Request) {
	if err := s.places.Acquire(r.Context(), 1); err != nil {
		return // the client has gone
	}
	defer s.places.Release(1)
	time.Sleep(s.takes)
	fmt.Fprintln(w, "rendered")
}

var digests = suite.Entry{
	Name: "errgroup", Family: "libraries", Truth: "cpu", Function: "main.(*album).digest",
	InWords: "each request hashes its parts in a group of goroutines, and waits for all of them",
	Method:  "GET", Path: "/digest", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		a := &album{parts: d.Between("parts", 4, 12), part: make([]byte, d.Between("part_bytes", 50_000, 200_000))}
		return func() (*suite.Service, error) { return suite.Serving("GET /digest", a.show), nil }
	},
}

// album hashes its pictures.
type album struct {
	parts int
	part  []byte
}

func (a *album) show(w http.ResponseWriter, _ *http.Request) {
	sums := make([][32]byte, a.parts)
	var group errgroup.Group
	for i := range sums {
		group.Go(func() error { sums[i] = a.digest(); return nil })
	}
	group.Wait() // no part fails
	fmt.Fprintf(w, "%x\n", sums[0])
}

func (a *album) digest() [32]byte { return sha256.Sum256(a.part) }

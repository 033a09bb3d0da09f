package main

import (
	"fmt"
	"net/http"

	"dyno/subjects/bounds/suite"
)

var registry = suite.Entry{
	Name: "consumer-untraced", Family: "wait", Truth: "wait", Kind: "channel", Function: "main.(*registrar).register",
	InWords: "each request hands its entry to one goroutine, which computes all the time, and no execution trace can be had",
	Method:  "POST", Path: "/register", BodyBytes: 64, Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		rounds, queue := d.Between("rounds", 4_000, 12_000), d.Between("queue", 1, 1000)
		return func() (*suite.Service, error) {
			r := newRegistrar(rounds, queue)
			s := suite.ServingUntil("POST /register", r.register, r.close)
			s.Untraced = true
			return s, nil
		}
	},
}

// application is a request for an entry; done is closed when it is entered.
type application struct {
	name string
	done chan struct{}
}

// registrar enters one application after the other. close ends its goroutine; as in printer,
// requests that were cut off then keep waiting.
type registrar struct {
	rounds     int
	queue      chan application // never closed
	stop, done chan struct{}
	seal       [32]byte
}

func newRegistrar(rounds, queue int) *registrar {
	r := &registrar{rounds: rounds, queue: make(chan application, queue), stop: make(chan struct{}), done: make(chan struct{})}
	go r.loop()
	return r
}

func (r *registrar) loop() {
	defer close(r.done)
	for {
		select {
		case <-r.stop:
			return
		case a := <-r.queue:
			r.enter(a.name)
			close(a.done)
		}
	}
}

// enter seals the entry with all before it.
func (r *registrar) enter(name string) {
	r.seal = stretch(append(r.seal[:], name...), r.rounds)
}

func (r *registrar) close() {
	close(r.stop)
	<-r.done
}

func (r *registrar) register(w http.ResponseWriter, req *http.Request) {
	a := application{req.RemoteAddr, make(chan struct{})}
	r.queue <- a
	<-a.done
	fmt.Fprintln(w, "entered")
}

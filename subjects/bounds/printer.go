package main

import (
	"fmt"
	"net/http"

	"dyno/subjects/bounds/suite"
)

var printing = suite.Entry{
	Name: "consumer", Family: "wait", Truth: "wait", Kind: "channel", Function: "main.(*printer).print",
	InWords: "each request hands its job to one goroutine over a channel and waits for it; that goroutine computes all the time",
	Method:  "GET", Path: "/print", Invisible: []string{"none"},
	Remedies: []suite.Remedy{{InWords: "the one goroutine computes half as much", Scale: map[string]float64{"rounds": 0.5}, Bound: 0.5, CPU: 0.5, Compute: "main.stretch"}},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		rounds, queue := d.Between("rounds", 4_000, 12_000), d.Between("queue", 1, 16)
		return func() (*suite.Service, error) {
			p := newPrinter(rounds, queue)
			return suite.ServingUntil("GET /print", p.print, p.close), nil
		}
	},
}

type job struct {
	text   []byte
	ticket chan [32]byte // receives once; has room for it
}

// printer processes jobs one after the other. close ends its goroutine; a request that was cut off
// and still waits for it then waits until the process ends: it uses no select, since a diagnosis
// must find its wait for the channel alone.
type printer struct {
	rounds     int
	jobs       chan job // never closed: such a request would panic
	stop, done chan struct{}
}

func newPrinter(rounds, queue int) *printer {
	p := &printer{rounds, make(chan job, queue), make(chan struct{}), make(chan struct{})}
	go p.run()
	return p
}

func (p *printer) run() {
	defer close(p.done)
	for {
		select {
		case <-p.stop:
			return
		case j := <-p.jobs:
			j.ticket <- stretch(j.text, p.rounds)
		}
	}
}

func (p *printer) close() {
	close(p.stop)
	<-p.done
}

func (p *printer) print(w http.ResponseWriter, r *http.Request) {
	j := job{[]byte(r.RemoteAddr), make(chan [32]byte, 1)}
	p.jobs <- j
	fmt.Fprintf(w, "printed %x\n", <-j.ticket)
}

package main

import (
	"net/http"
	"time"

	"dyno/subjects/bounds/suite"
)

var batches = suite.Entry{
	Name: "producer", Family: "libraries", Truth: "wait", Kind: "timer", OrKind: "channel", Function: "main.(*producer).publish",
	InWords: "each request waits until its message is acknowledged; as in clients of Kafka, one goroutine collects batches and another sends one batch after the other, which takes some ms each",
	Method:  "GET", Path: "/publish", Invisible: []string{"none"},
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		most, takes := d.Between("batch", 4, 16), d.Micros("send_us", 5_000, 20_000)
		return func() (*suite.Service, error) {
			p := newProducer(most, takes)
			return suite.ServingUntil("GET /publish", p.publish, p.close), nil
		}
	},
}

// message is one message; acked is closed when the broker has it.
type message struct{ acked chan struct{} }

// producer hands messages from its input over to one goroutine that collects batches, and that
// hands each batch to one that sends it. Closing the input ends both.
type producer struct {
	input chan message
	sends chan []message
	most  int
	takes time.Duration // that the broker takes for a batch
	done  chan struct{}
}

// linger is the time that a batch waits for further messages.
const linger = time.Millisecond

func newProducer(most int, takes time.Duration) *producer {
	p := &producer{make(chan message), make(chan []message), most, takes, make(chan struct{})}
	go p.collect()
	go p.send()
	return p
}

func (p *producer) publish(w http.ResponseWriter, r *http.Request) {
	m := message{make(chan struct{})}
	select {
	case p.input <- m:
	case <-r.Context().Done():
		return
	}
	<-m.acked
	answer(w, nil)
}

// collect hands a batch on when it is full, and linger after its first message.
func (p *producer) collect() {
	defer close(p.sends)
	for first := range p.input {
		batch := append(make([]message, 0, p.most), first)
		late := time.NewTimer(linger)
	filling:
		for len(batch) < p.most {
			select {
			case m, open := <-p.input:
				if !open {
					break filling
				}
				batch = append(batch, m)
			case <-late.C:
				break filling
			}
		}
		late.Stop()
		p.sends <- batch
	}
}

// send sends one batch after the other.
func (p *producer) send() {
	defer close(p.done)
	for batch := range p.sends {
		time.Sleep(p.takes)
		for _, m := range batch {
			close(m.acked)
		}
	}
}

// close ends the producer; no request is in progress, or it was cut off and sends no more.
func (p *producer) close() {
	close(p.input)
	<-p.done
}

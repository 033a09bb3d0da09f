package main

import (
	"net/http"
	"runtime"
	"sync"
)

// workers has a worker for each processor answer requests, one at a time. A client that is slow to
// send a body holds a worker meanwhile. close ends and awaits them; what comes later is refused.
type workers struct {
	next     http.Handler
	requests chan *exchanged // without a buffer: a worker has what was sent
	ended    chan struct{}
	group    sync.WaitGroup
}

// exchanged is a request on its way to a worker.
type exchanged struct {
	w    http.ResponseWriter
	r    *http.Request
	done chan struct{} // the worker has answered
}

var exchanges = sync.Pool{New: func() any { return &exchanged{done: make(chan struct{}, 1)} }}

func newWorkers(next http.Handler) *workers {
	p := &workers{next: next, requests: make(chan *exchanged), ended: make(chan struct{})}
	for range runtime.GOMAXPROCS(0) {
		p.group.Go(p.work)
	}
	return p
}

func (p *workers) work() {
	for {
		select {
		case e := <-p.requests:
			p.next.ServeHTTP(e.w, e.r)
			e.done <- struct{}{}
		case <-p.ended:
			return
		}
	}
}

func (p *workers) close() {
	close(p.ended)
	p.group.Wait()
}

// ServeHTTP waits for a worker's answer.
func (p *workers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := exchanges.Get().(*exchanged)
	e.w, e.r = w, r
	select {
	case p.requests <- e:
		<-e.done
	case <-p.ended:
		http.Error(w, `{"error":"the server stops"}`, http.StatusServiceUnavailable)
	}
	e.w, e.r = nil, nil
	exchanges.Put(e)
}

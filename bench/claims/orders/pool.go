package main

import (
	"context"
	"net/http"
	"sync"

	"dyno/bench/claims/queues/queue"
	"dyno/services/orders/order"
	"dyno/services/orders/web"
)

// room is how many requests may wait for a worker. The next one is refused with 503.
const room = 65536

// pool is workers that answer requests. close waits for them; no request may be under way then.
type pool struct {
	queue   queue.Queue[*job]
	workers sync.WaitGroup
}

// newPool starts workers behind a queue, named as in bench/claims/queues/queue.
func newPool(name string, workers, room int) (*pool, error) {
	q, err := queue.New[*job](name, queue.Config{Capacity: room, Workers: workers})
	if err != nil {
		return nil, err
	}
	p := &pool{queue: q}
	for i := range workers {
		p.workers.Go(func() { p.work(i) })
	}
	return p, nil
}

func (p *pool) close() {
	p.queue.Close()
	p.workers.Wait()
}

// job is a request on its way to a worker.
type job struct {
	ctx  context.Context
	req  *web.Request
	resp *web.Response
	next web.Handler
	done chan struct{}
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

func (p *pool) work(number int) {
	buf := make([]*job, 1) // one: a job that waits in buf waits for this worker alone
	for p.queue.Take(number, buf) > 0 {
		j := buf[0]
		j.next.Serve(j.ctx, j.req, j.resp)
		j.done <- struct{}{}
	}
}

// dispatched has a worker answer. It waits for the worker even when the context has ended: the
// worker uses the request's memory. next recovers from panics.
func (p *pool) dispatched(next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		j := jobs.Get().(*job)
		j.ctx, j.req, j.resp, j.next = ctx, req, resp, next
		if p.queue.Put(0, j) {
			<-j.done
		} else {
			resp.Status, resp.Err = http.StatusServiceUnavailable, order.ErrBusy
		}
		done := j.done
		*j = job{done: done}
		jobs.Put(j)
	})
}

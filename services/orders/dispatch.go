package orders

import (
	"context"
	"runtime"
	"sync"

	"dyno/parts/queue"
	"dyno/parts/refusal"
	"dyno/services/orders/order"
	"dyno/services/orders/web"
)

// dispatchQueues names the queue (parts/queue) of each way to hand requests to a pool of workers.
var dispatchQueues = map[string]string{"channel": "buffered", "ring": "ring"}

// openDispatch starts the pool of workers, if there is to be one.
func (g *Gateway) openDispatch() (middleware, error) {
	if g.config.Dispatch == "direct" {
		return func(next web.Handler) web.Handler { return next }, nil
	}
	name, ok := dispatchQueues[g.config.Dispatch]
	if !ok {
		return nil, refusal.Unknown("dispatch", g.config.Dispatch, "channel", "direct", "ring")
	}
	workers := g.config.Workers
	if workers == 0 {
		workers = 2 * runtime.GOMAXPROCS(0)
	}
	q, err := queue.New[*job](name, queue.Config{Capacity: g.config.QueueCapacity, Workers: workers})
	if err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() { work(q, i) })
	}
	g.closers = append(g.closers, func() {
		q.Close()
		running.Wait()
	})
	return func(next web.Handler) web.Handler { return &dispatched{g: g, queue: q, next: g.recover(next)} }, nil
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

func work(q queue.Queue[*job], number int) {
	buf := make([]*job, 1) // one at a time: what waits in buf waits for this worker alone
	for q.Take(number, buf) > 0 {
		j := buf[0]
		j.next.Serve(j.ctx, j.req, j.resp)
		j.done <- struct{}{}
	}
}

// dispatched has another goroutine answer. It waits for that even when the context has ended: the worker uses the
// request's memory.
type dispatched struct {
	g     *Gateway
	queue queue.Queue[*job]
	next  web.Handler // recovers: a worker has no caller that would
}

func (d *dispatched) Serve(ctx context.Context, req *web.Request, resp *web.Response) {
	j := jobs.Get().(*job)
	j.ctx, j.req, j.resp, j.next = ctx, req, resp, d.next
	if !d.queue.Put(0, j) {
		d.g.refuse(req, resp, order.ErrBusy)
		return
	}
	<-j.done
	done := j.done
	*j = job{done: done}
	jobs.Put(j)
}

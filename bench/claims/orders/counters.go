package main

import (
	"context"
	"sync/atomic"

	"golang.org/x/sys/cpu"

	"dyno/services/orders/web"
)

// counters count requests in flight and answered, as ordersd's own do. All CPUs write them at every
// request.
type counters interface {
	begin()
	end(status int)
}

// packed has all counters in one cache line or two.
type packed struct {
	running atomic.Int64
	classes [6]atomic.Uint64
}

func (p *packed) begin() { p.running.Add(1) }
func (p *packed) end(status int) {
	p.classes[classOf(status)].Add(1)
	p.running.Add(-1)
}

// padded has a cache line for each counter, so that CPUs that write different ones do not take it
// from one another.
type padded struct {
	running struct {
		atomic.Int64
		_ cpu.CacheLinePad
	}
	classes [6]struct {
		atomic.Uint64
		_ cpu.CacheLinePad
	}
}

func (p *padded) begin() { p.running.Add(1) }
func (p *padded) end(status int) {
	p.classes[classOf(status)].Add(1)
	p.running.Add(-1)
}

// classOf gives a status' hundreds.
func classOf(status int) int { return min(max(status/100, 0), 5) }

func counted(c counters, next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		c.begin()
		next.Serve(ctx, req, resp)
		c.end(resp.Status)
	})
}

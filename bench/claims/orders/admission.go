package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dyno/bench/claims/orders/limiter"
	"dyno/services/orders/order"
	"dyno/services/orders/web"
)

// admission bounds the concurrent requests of each route.
type admission struct {
	kind            string
	most            int // requests
	maxWait, target time.Duration
}

// waiting is how many requests of a route may wait for admission.
const waiting = 8192

// limiters by the value of --admission; "none" is ordersd's own.
var limiters = map[string]func(admission) limiter.Limiter{
	"none": nil,
	"fixed": func(a admission) limiter.Limiter {
		return limiter.NewFixed(limiter.Fixed{Limit: a.most, MaxWaiting: waiting, MaxWait: a.maxWait})
	},
	// It begins at a tenth of what is allowed and finds its way up; it never lets in less.
	"aimd": func(a admission) limiter.Limiter {
		return limiter.NewAIMD(limiter.AIMD{Min: max(1, a.most/10), Max: a.most, Target: a.target, MaxWaiting: waiting, MaxWait: a.maxWait})
	},
}

func (a admission) check() error {
	if a.most < 1 || a.maxWait <= 0 || a.target <= 0 {
		return fmt.Errorf("--admit is %d, --max-wait %s and --target %s; give more than 0 of each", a.most, a.maxWait, a.target)
	}
	return nil
}

// admitted answers a request when there is room for it, and 503 when there is none in time.
func admitted(l limiter.Limiter, next web.Handler) web.Handler {
	return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
		permit, err := l.Acquire(ctx, 1)
		if err != nil {
			resp.Status, resp.Err = http.StatusServiceUnavailable, order.ErrBusy
			return
		}
		defer func() { permit.Release(outcome(resp.Err)) }() // also if it panics
		next.Serve(ctx, req, resp)
	})
}

// outcome returns what a request's error means for the concurrency limit.
func outcome(err error) limiter.Outcome {
	switch {
	case err == nil, errors.Is(err, order.ErrNotFound), errors.Is(err, order.ErrConflict):
		return limiter.Good
	case errors.Is(err, order.ErrUnavailable):
		return limiter.Dropped
	}
	return limiter.Ignored // the database was not asked, or its caller did not wait for it
}

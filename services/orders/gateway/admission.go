package gateway

import (
	"context"
	"errors"

	"dyno/parts/limiter"
	"dyno/parts/refusal"
	"dyno/services/orders/order"
	"dyno/services/orders/query"
	"dyno/services/orders/web"
)

// openAdmission builds what lets a class of requests in.
func (g *Gateway) openAdmission(class int) (middleware, error) {
	c := g.config
	if class == classFree {
		return admitAll, nil
	}
	most := [classes]int{classRead: c.AdmitReads, classList: c.AdmitLists, classWrite: c.AdmitWrites}[class]
	var l limiter.Limiter
	switch c.Admission {
	case "none":
		return admitAll, nil
	case "fixed":
		l = limiter.NewFixed(limiter.Fixed{Limit: most, MaxWaiting: c.MaxWaiting, MaxWait: c.MaxWait})
	case "aimd":
		// It begins at a tenth of what is allowed and finds its way up; it never lets in less.
		l = limiter.NewAIMD(limiter.AIMD{Min: max(1, most/10), Max: most, Target: c.TargetLatency, MaxWaiting: c.MaxWaiting, MaxWait: c.MaxWait})
	default:
		return nil, refusal.Unknown("admission", c.Admission, "aimd", "fixed", "none")
	}
	g.limiters[class] = l
	return func(next web.Handler) web.Handler {
		return &admitted{g: g, limiter: l, next: next, weigh: weights[class]}
	}, nil
}

func admitAll(next web.Handler) web.Handler { return next }

// weights say how many units a request of a class takes.
var weights = [classes]func(*web.Request) int{
	classRead:  func(*web.Request) int { return 1 },
	classList:  listWeight,
	classWrite: func(*web.Request) int { return 1 },
}

// listWeight counts a unit for each page of the usual size that a list could have been.
func listWeight(req *web.Request) int {
	f, err := query.ParseList(req.Query, req.Account)
	if err != nil {
		return 1
	}
	return (f.Limit + query.DefaultLimit - 1) / query.DefaultLimit
}

// admitted answers a request when there is room for it.
type admitted struct {
	g       *Gateway
	limiter limiter.Limiter
	next    web.Handler
	weigh   func(*web.Request) int
}

func (a *admitted) Serve(ctx context.Context, req *web.Request, resp *web.Response) {
	permit, err := a.limiter.Acquire(ctx, a.weigh(req))
	if err != nil {
		a.g.refuse(req, resp, err)
		return
	}
	defer func() { permit.Release(outcome(resp.Err)) }() // also if it panics
	a.next.Serve(ctx, req, resp)
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

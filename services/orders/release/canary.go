package release

import (
	"context"
	"net/http"
	"time"

	"dyno/services/orders/web"
)

// canary passes a request to the version that its account belongs to in this stage.
func (r *Release) canary(ctx context.Context, c *rollout, next web.Handler, req *web.Request, resp *web.Response) {
	if !c.takes(req) {
		begin := time.Now()
		next.Serve(ctx, req, resp)
		if ctx.Err() == nil {
			c.stable.add(time.Since(begin), resp.Status >= 500)
		}
		return
	}
	out, err := request(c.base, own(req))
	if err != nil { // malformed: the stable version refuses it
		next.Serve(ctx, req, resp)
		return
	}
	select {
	case r.semaphore <- struct{}{}:
		defer func() { <-r.semaphore }()
	default: // it is overloaded; the requests in progress show that in its figures
		c.tally.crowded.Add(1)
		next.Serve(ctx, req, resp)
		return
	}
	begin := time.Now()
	answer, err := r.send(ctx, out)
	if err != nil && ctx.Err() != nil { // the client has gone: that is no fault of the version
		unavailable(resp)
		return
	}
	c.second.add(time.Since(begin), err != nil || answer.Status >= 500)
	switch {
	case err == nil:
		body := append(resp.Body[:0], answer.Body...)
		*resp = *answer
		resp.Body = body
	case req.Method == http.MethodGet || unsent(err):
		c.tally.rescued.Add(1)
		next.Serve(ctx, req, resp)
	default: // it may have been accepted; a client that repeats it, with its client order id, gets the result
		unavailable(resp)
	}
}

// takes reports whether the second version answers a request in this stage. The stable version
// refuses incomplete requests and those that are neither a read nor a submission.
func (c *rollout) takes(req *web.Request) bool {
	if req.BodyErr != nil || req.Method != http.MethodGet && req.Method != http.MethodPost {
		return false
	}
	return side(c.base.Host, req) < c.share
}

func unavailable(resp *web.Response) {
	resp.Reset()
	resp.Status = http.StatusServiceUnavailable
	resp.RetryAfter = time.Second
	resp.ContentType = "application/json"
	resp.Body = append(resp.Body, `{"error":"there was no answer in time; send the same request again"}`...)
}

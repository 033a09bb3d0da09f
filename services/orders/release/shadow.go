package release

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/orders/web"
)

// maxCopied is the maximum size of an answer kept for comparison, in bytes.
const maxCopied = 64 << 10

// copied is a read with the stable version's answer.
type copied struct {
	rollout *rollout
	req     *web.Request
	stable  *web.Response
	took    time.Duration
}

// shadow lets the stable version answer, and copies a share of the reads for the second one. A
// worker sends the copy, so the caller does not wait for it.
func (r *Release) shadow(ctx context.Context, c *rollout, next web.Handler, req *web.Request, resp *web.Response) {
	if req.Method != http.MethodGet || rand.Float64() >= c.share {
		next.Serve(ctx, req, resp)
		return
	}
	begin := time.Now()
	next.Serve(ctx, req, resp)
	took := time.Since(begin)
	if ctx.Err() != nil {
		return
	}
	if len(r.shadowQueue) == cap(r.shadowQueue) || len(resp.Body) > maxCopied { // before the work of copying
		c.tally.dropped.Add(1)
		return
	}
	mine := own(req)
	mine.AcceptEncoding = "" // an uncompressed answer need not be decompressed
	select {
	case r.shadowQueue <- copied{c, mine, ownResponse(resp), took}:
	default:
		c.tally.dropped.Add(1)
	}
}

// ownResponse copies the compared parts of an answer.
func ownResponse(resp *web.Response) *web.Response {
	out := *resp
	for _, s := range []*string{&out.ContentType, &out.ContentEncoding, &out.ETag, &out.Warning} {
		*s = strings.Clone(*s)
	}
	out.Body = bytes.Clone(resp.Body)
	return &out
}

func (r *Release) sendCopies() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case c := <-r.shadowQueue:
			if r.rollout.Load() == c.rollout {
				r.try(c)
			}
		}
	}
}

// try sends a copy to the second version and compares the answers.
func (r *Release) try(c copied) {
	out, err := request(c.rollout.base, c.req)
	if err != nil {
		c.rollout.tally.dropped.Add(1)
		return
	}
	begin := time.Now()
	second, err := r.send(r.ctx, out)
	if r.ctx.Err() != nil {
		return
	}
	c.rollout.stable.add(c.took, c.stable.Status >= 500)
	c.rollout.second.add(time.Since(begin), err != nil || second.Status >= 500)
	if err != nil {
		c.rollout.tally.failed.Add(1)
		return
	}
	verdict, what := r.compare(c.req, c.stable, second)
	c.rollout.tally.note(verdict, what, c, second)
}

// tally counts the results of a release, over all its stages.
type tally struct {
	same, different, incomparable atomic.Uint64 // copies
	failed                        atomic.Uint64 // copies without an answer
	dropped                       atomic.Uint64 // copies not sent
	crowded                       atomic.Uint64 // a canary's requests that the stable version answered: canary full
	rescued                       atomic.Uint64 // likewise: the canary did not answer

	mu       sync.Mutex
	examples []Difference
}

// Difference is an example of differing answers.
type Difference struct {
	At      time.Time `json:"at"`
	Request string    `json:"request"` // path and query
	What    string    `json:"what"`
	Stable  string    `json:"stable"` // start of its body
	Second  string    `json:"second"`
}

const (
	maxExamples = 20  // the latest ones
	maxShown    = 256 // bytes of each part of an example
)

func (t *tally) note(v verdict, what string, c copied, second *web.Response) {
	switch v {
	case same:
		t.same.Add(1)
		return
	case incomparable:
		t.incomparable.Add(1)
		return
	}
	t.different.Add(1)
	d := Difference{time.Now(), clip(c.req.Path + "?" + c.req.Query), clip(what), excerpt(c.stable), excerpt(second)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.examples = append(t.examples, d)
	if over := len(t.examples) - maxExamples; over > 0 {
		t.examples = slices.Delete(t.examples, 0, over)
	}
}

func excerpt(r *web.Response) string {
	if r.ContentEncoding != "" {
		return r.ContentEncoding
	}
	return clip(string(r.Body[:min(len(r.Body), maxShown)]))
}

// clip shortens foreign bytes, and makes them valid text.
func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxShown)], "")
}

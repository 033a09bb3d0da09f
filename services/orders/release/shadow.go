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

// maxCopied is the longest answer that is kept for comparison, in bytes.
const maxCopied = 64 << 10

// copied is a read that the stable version has answered.
type copied struct {
	course *course
	req    *web.Request
	stable *web.Response
	took   time.Duration
}

// shadow answers by the stable version; a share of the reads is copied for the second one. The copy is sent by a
// worker: nobody waits for it.
func (r *Release) shadow(ctx context.Context, c *course, next web.Handler, req *web.Request, resp *web.Response) {
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
	if len(r.copies) == cap(r.copies) || len(resp.Body) > maxCopied { // before the work of copying
		c.tally.dropped.Add(1)
		return
	}
	mine := own(req)
	mine.AcceptEncoding = "" // what is not compressed need not be unpacked
	select {
	case r.copies <- copied{c, mine, ownResponse(resp), took}:
	default:
		c.tally.dropped.Add(1)
	}
}

// ownResponse copies what answers are compared by.
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
		case c := <-r.copies:
			if r.course.Load() == c.course {
				r.try(c)
			}
		}
	}
}

// try asks the second version what the stable one has answered.
func (r *Release) try(c copied) {
	out, err := request(c.course.base, c.req)
	if err != nil {
		c.course.tally.dropped.Add(1)
		return
	}
	begin := time.Now()
	second, err := r.send(r.ctx, out)
	if r.ctx.Err() != nil {
		return
	}
	c.course.stable.add(c.took, c.stable.Status >= 500)
	c.course.second.add(time.Since(begin), err != nil || second.Status >= 500)
	if err != nil {
		c.course.tally.failed.Add(1)
		return
	}
	verdict, what := r.compare(c.req, c.stable, second)
	c.course.tally.note(verdict, what, c, second)
}

// tally counts what came of a release's requests, in all its stages.
type tally struct {
	same, different, incomparable atomic.Uint64 // copies
	failed                        atomic.Uint64 // copies without an answer
	dropped                       atomic.Uint64 // copies not sent
	crowded                       atomic.Uint64 // a canary's requests that the stable version answered: no room
	rescued                       atomic.Uint64 // and: there was no answer

	mu       sync.Mutex
	examples []Difference
}

// Difference is an example of answers that differ.
type Difference struct {
	At      time.Time `json:"at"`
	Request string    `json:"request"` // path and query
	What    string    `json:"what"`
	Stable  string    `json:"stable"` // the beginning of its body
	Second  string    `json:"second"`
}

const (
	maxExamples = 20  // the latest
	maxShown    = 256 // bytes, of each part of an example
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

// clip shortens foreign text, and makes it text.
func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxShown)], "")
}

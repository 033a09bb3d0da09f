package nethttp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/pool"
)

// client is the pool.Doer of one Drive.
type client struct {
	driver *Driver
	conns  []*Conn // by worker
}

func (c *client) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// Connect makes the worker's connection before the run's start.
func (c *client) Connect(ctx context.Context, worker int) { c.conns[worker].Prepare(ctx) }

// Do sends the next request of the corpus and checks the answer.
func (c *client) Do(ctx context.Context, o *pool.Arrival) pool.Result {
	requests := c.driver.config.Corpus
	from := &requests.Requests[o.Index]
	answer, err := c.driver.roundTrip(c.conns[o.Worker], c.request(ctx, o.Index, o.Seq))
	if err != nil {
		status := StatusOf(err)
		if status == load.Connect {
			c.driver.unconnected.Add("connections that could not be made", c.driver.unreachable(err))
		}
		return pool.Result{Status: status, Class: from.Class}
	}
	defer answer.Body.Close()
	c.driver.negotiated.Observe(answer)
	if answer.StatusCode < 200 || answer.StatusCode > 999 { // 101: no request asks to change the protocol
		return pool.Result{Status: load.Malformed, Class: from.Class}
	}
	check := &requests.Classes[from.Class].Check
	result := pool.Result{Status: load.Status(answer.StatusCode), Class: from.Class, Success: check.PassStatus(answer.StatusCode)}
	if !result.Success {
		var first []byte
		if c.driver.refused.Empty() {
			first, _ = io.ReadAll(io.LimitReader(answer.Body, corpus.ExcerptLength+1)) // Read below meets the same error
		}
		c.driver.refused.Add(answer.StatusCode, answer.Header.Get("Location"), first)
	}
	looks := check.NeedsContent() || requests.Accepted != nil
	body, whole, err := Read(answer.Body, result.Success && looks)
	switch {
	case err != nil:
		return pool.Result{Status: StatusOf(err), Class: from.Class}
	case result.Success && looks:
		result.Failed = requests.Units
		if whole {
			if result.Failed = check.Failures(answer.Header, body, requests.Units); result.Failed > 0 {
				c.driver.refused.Add(answer.StatusCode, "", body)
			}
			if requests.Accepted != nil && result.Failed < requests.Units {
				requests.Accepted(o.Seq, body)
			}
		}
		result.Success = result.Failed == 0
		result.Checked = !result.Success
	}
	return result
}

// request returns the corpus's i-th request with its sequence number filled in.
func (c *client) request(ctx context.Context, i int, seq uint64) *http.Request {
	out := c.driver.requests[i].WithContext(ctx)
	from := &c.driver.config.Corpus.Requests[i]
	if len(from.Body) == 0 {
		return out
	}
	body := from.Body
	if len(from.IDs) > 0 {
		body = bytes.Clone(body) // after an early answer the transport may still be sending the body
		for _, at := range from.IDs {
			corpus.PutID(body[at:], seq)
		}
	}
	whole := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if out.Body, _ = whole(); c.driver.config.Follow > 0 {
		out.GetBody = whole // a redirect with 307 or 308 repeats the body; without GetBody the transport repeats no request
	}
	return out
}

// roundTrip sends a request and follows redirects within the target, up to Config.Follow.
func (d *Driver) roundTrip(c *Conn, r *http.Request) (*http.Response, error) {
	if d.config.Follow == 0 {
		return c.Transport.RoundTrip(r)
	}
	client := http.Client{Transport: c.Transport, CheckRedirect: func(next *http.Request, before []*http.Request) error {
		if len(before) > d.config.Follow || next.URL.Scheme != r.URL.Scheme || next.URL.Host != r.URL.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return client.Do(r)
}

// maxBody bounds the part of an answer that is kept for its checks; a longer answer fails them.
// In bytes.
const maxBody = 1 << 20 // bytes

// Read reads a body to its end, and keeps it if wanted; whole is false if there was more than it
// kept.
func Read(body io.Reader, wanted bool) (kept []byte, whole bool, err error) {
	if wanted {
		if kept, err = io.ReadAll(io.LimitReader(body, maxBody)); err != nil {
			return nil, false, err
		}
	}
	rest, err := io.Copy(io.Discard, body)
	return kept, rest == 0, err
}

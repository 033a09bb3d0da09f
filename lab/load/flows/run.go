package flows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
	"dyno/lab/load/pool"
)

// drive is the pool.Doer of one Drive.
type drive struct {
	*Driver
	plan    *load.Plan
	clients *clients
	hurried bool // leave the pauses out
	running atomic.Int64
	full    atomic.Bool // the maximum number of concurrent flows was reached
}

// flow is the state of one running flow.
type flow struct {
	*drive
	conn   *nethttp.Conn
	jar    http.CookieJar
	values *corpus.Values
}

type ending struct {
	status  load.Status
	success bool
	checked bool // the content failed its check, or the request could not be built; the status is no failure
	why     error
}

// Connect makes the first connections before the run's start.
func (d *drive) Connect(ctx context.Context, worker int) {
	if worker < prepared {
		d.clients.prepare(ctx)
	}
}

// Do runs one flow.
func (d *drive) Do(ctx context.Context, o *pool.Arrival) pool.Result {
	d.countIn()
	defer d.running.Add(-1)
	jar, err := cookiejar.New(nil)
	if err != nil {
		return pool.Result{Status: load.Other}
	}
	f := &flow{drive: d, conn: d.clients.take(), jar: jar, values: d.values.Values(o.Seq)}
	defer func() { d.clients.put(f.conn) }()
	intended, sent := o.Intended, o.Sent
	for i := range d.steps {
		s := &d.steps[i]
		if i > 0 {
			if !d.hurried {
				intended += int64(s.think)
			}
			if !load.Pause(ctx, time.Duration(intended-monotonic.Now())) {
				return pool.Result{}
			}
			sent = o.SendStep(intended)
		}
		e := f.do(ctx, s, intended)
		out := load.Completion{Seq: o.Seq, Intended: intended, Sent: sent, Done: monotonic.Now(), Status: e.status, Class: uint8(i), Success: e.success, Checked: e.checked}
		if !e.success && ctx.Err() != nil { // cut off by the end of the run
			out.Status = load.Unfinished
		}
		o.EndStep(&out)
		if out.Status == load.Unfinished {
			return pool.Result{}
		}
		if !e.success {
			d.failed.Add(fmt.Sprintf("flows that failed in step %s (%s)", s.name, e.kind()), e.why)
			return pool.Result{Status: e.status, Checked: e.checked}
		}
		intended = out.Done
	}
	return pool.Result{Status: load.OK, Success: true}
}

// countIn counts a flow that begins. It notes, the first time, that the maximum number of
// concurrent flows is reached.
func (d *drive) countIn() {
	if most := int64(max(d.plan.Connections, 1)); d.running.Add(1) >= most && d.plan.Open() && !d.full.Swap(true) {
		d.failed.Add("the limit of concurrent flows was reached", fmt.Errorf("at %d flows (load.connections); later flows wait, which the latency of their first step includes", most))
	}
}

func (e *ending) kind() string {
	if e.checked {
		return "check"
	}
	return e.status.String()
}

// do sends a step's request and judges the answer.
func (f *flow) do(ctx context.Context, s *step, intended int64) ending {
	if f.plan.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.plan.Timeout-time.Duration(monotonic.Now()-intended))
		defer cancel()
	}
	r, err := f.request(ctx, s)
	if err != nil {
		return ending{checked: true, why: err}
	}
	client := http.Client{Transport: f.conn.Transport, Jar: f.jar, CheckRedirect: f.redirect(s)}
	answer, err := client.Do(r)
	if err != nil {
		return ending{status: nethttp.StatusOf(err), why: withoutURL(err)}
	}
	defer answer.Body.Close()
	f.negotiated.Observe(answer)
	passes := s.check.PassStatus(answer.StatusCode)
	body, whole, err := nethttp.Read(answer.Body, passes && s.looks)
	switch {
	case err != nil:
		return ending{status: nethttp.StatusOf(err), why: err}
	case answer.StatusCode < 200 || answer.StatusCode > 999: // 101 is malformed, too: no request asks to change the protocol
		return ending{status: load.Malformed, why: fmt.Errorf("status %d", answer.StatusCode)}
	case !passes:
		return ending{status: load.Status(answer.StatusCode), why: refused(answer)}
	case !whole && s.looks:
		err = fmt.Errorf("the answer is too long to be checked, more than %d bytes", len(body))
	default:
		err = f.take(s, answer, body)
	}
	return ending{status: load.Status(answer.StatusCode), success: err == nil, checked: err != nil, why: err}
}

// withoutURL returns the cause of a client's error without the URL, which may contain a saved
// token.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// refused describes a status that the check does not accept.
func refused(answer *http.Response) error {
	if corpus.Redirects(answer.StatusCode) {
		return fmt.Errorf("%s", corpus.Redirected(answer.StatusCode, answer.Header.Get("Location")))
	}
	return fmt.Errorf("%s", answer.Status)
}

// request builds a step's request with the values saved so far.
func (f *flow) request(ctx context.Context, s *step) (*http.Request, error) {
	body := f.values.Fill(nil, s.body)
	r, err := http.NewRequestWithContext(ctx, s.method, string(f.values.Fill(nil, s.url)), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		r.Body, r.GetBody = nil, nil
	}
	r.Header["User-Agent"] = nil // the transport then sends none, as the other engines do
	for name, value := range s.header {
		r.Header.Set(name, string(f.values.Fill(nil, value)))
	}
	r.Host = r.Header.Get("Host")
	return r, nil
}

// redirect returns the client's rule for following a step's redirects.
func (f *flow) redirect(s *step) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		if len(before) > s.follow || !f.permitted(before[0], next) {
			return http.ErrUseLastResponse
		}
		return nil
	}
}

func (f *flow) permitted(first, next *http.Request) bool {
	if next.URL.Host == first.URL.Host && next.URL.Scheme == first.URL.Scheme {
		return true
	}
	return f.spec.Permit != nil && f.spec.Permit(next.URL.Scheme+"://"+next.URL.Host) == nil
}

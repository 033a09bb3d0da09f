// Package tools turns what k6 and Locust report about their requests into a recording: each tool
// runs the user's own script with a number of virtual users, and prints a line for every request
// that ends.
//
// A tool's load is closed: a user waits for an answer before it goes on, so a stall of the
// service delays the user's later requests, and their latency does not include the delay. A
// request that waits for its answer when the run ends is missing from the recording, because the
// tool has not reported it.
//
// It does not start tools and does not read their scripts. No goroutine outlives Drive.
package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/record"
)

const (
	maxLine  = 64 << 10 // bytes; longer lines are skipped
	maxUsers = 200_000  // further users are not distinguished
	maxName  = 64       // bytes of a user's name

	// firstRequest bounds the wait for the first request: a script may prepare data before it
	// sends any.
	firstRequest = 2 * time.Minute
	// settle is how late a tool's report of a request may arrive.
	settle = time.Second
)

// Form describes how a tool reports its requests.
type Form struct {
	Name string // of the tool, in results
	None string // why there may be no requests, for an error message
	read func(line []byte) (request, bool)
}

// request is a request that a tool reported as ended.
type request struct {
	user    string // empty: not known
	done    int64  // ns since 1970
	took    int64  // ns
	status  load.Status
	success bool // by the tool's own judgement
	bytes   int
}

// Driver is a load.Driver that reads what a tool prints. It drives only once.
type Driver struct {
	form Form
	r    io.Reader
}

var _ load.Driver = (*Driver)(nil)

// New returns the driver that reads a tool's output from r. If r is an io.Closer, such as the
// reading end of a pipe, Drive closes it; otherwise Drive ends only when a Read returns.
func New(form Form, r io.Reader) *Driver { return &Driver{form: form, r: r} }

// Engine returns the tool's name.
func (d *Driver) Engine() string { return d.form.Name }

// Drive records requests until the plan is over. The plan's start is that of the first request.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	reading, stop := context.WithCancel(ctx)
	requests := make(chan request, 1024)
	var broken error
	go func() {
		defer close(requests)
		broken = d.lines(reading, requests)
	}()
	defer func() {
		stop()
		if c, ok := d.r.(io.Closer); ok {
			c.Close()
		}
		for range requests { // until the goroutine has ended
		}
	}()
	r := &recording{plan: p, rec: rec, wall: monotonic.Now() - time.Now().UnixNano(), users: map[string]*user{}}
	began, tick := monotonic.Now(), time.NewTicker(record.WindowLength)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case q, ok := <-requests:
			if !ok {
				return errors.Join(broken, d.early(r))
			}
			r.add(&q)
		case <-tick.C:
		}
		now := monotonic.Now()
		switch {
		case r.shard == nil && now > began+int64(firstRequest):
			return fmt.Errorf("%s sent no request within %v; %s", d.form.Name, firstRequest, d.form.None)
		case r.shard == nil:
		case now >= p.DrainUntil()+int64(settle):
			r.finish()
			return nil
		default:
			r.shard.Advance(now - int64(settle))
		}
	}
}

// early ends a recording because the tool has ended, which is an error unless the measured time
// is over.
func (d *Driver) early(r *recording) error {
	if r.shard == nil {
		return fmt.Errorf("%s ended without a request; %s", d.form.Name, d.form.None)
	}
	now := monotonic.Now()
	r.shard.Advance(now)
	r.finish()
	if left := r.plan.SendUntil() - now; left > 0 {
		return fmt.Errorf("%s ended %v before the measured time was over", d.form.Name, time.Duration(left).Round(time.Millisecond))
	}
	return nil
}

// lines reads the tool's output; it skips lines that report no request.
func (d *Driver) lines(ctx context.Context, out chan<- request) error {
	r := bufio.NewReaderSize(d.r, maxLine)
	for long := false; ; {
		line, err := r.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if q, ok := d.form.read(bytes.TrimSpace(line)); ok && !full && !long {
			select {
			case out <- q:
			case <-ctx.Done():
				return nil
			}
		}
		long = full
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil && !full:
			return fmt.Errorf("reading the output of %s: %w", d.form.Name, err)
		}
	}
}

// recording adds requests to a recorder.
type recording struct {
	plan  *load.Plan
	rec   *load.Recorder
	wall  int64       // monotonic clock minus wall clock, ns
	shard *load.Shard // nil: there was no request yet
	users map[string]*user
}

// user is a virtual user that had at least one answer.
type user struct{ answers int64 } // in the measured time

func (r *recording) add(q *request) {
	now := monotonic.Now()
	done := min(q.done+r.wall, now)
	begun := done - min(max(q.took, 0), int64(time.Hour))
	if r.shard == nil {
		r.plan.Start = begun / int64(record.WindowLength) * int64(record.WindowLength)
		r.shard = r.rec.Shards(1)[0]
	}
	if begun >= r.plan.SendUntil() {
		return
	}
	s := r.shard
	s.Advance(done)
	seq := s.Arrive(begun)
	s.Sent(begun, begun, 0)
	s.Received(done, 1, q.bytes)
	u := r.users[q.user]
	if u == nil && q.user != "" && len(r.users) < maxUsers {
		u = &user{}
		r.users[q.user] = u
		s.Opened(done - begun)
	}
	if u != nil && done >= r.plan.MeasureFrom() && done < r.plan.SendUntil() {
		u.answers++
	}
	o := load.Completion{Seq: seq, Intended: begun, Sent: begun, Done: done, Status: q.status, Success: q.success}
	o.Checked = !q.success && (q.status == load.OK || q.status >= 100 && q.status < 400)
	if q.success && q.status >= 400 {
		o.Status = load.OK // the script expects this status
	}
	s.Done(&o)
}

// finish reports the mean gap between each user's answers. A user that never had one counts as a
// session that did not open.
func (r *recording) finish() {
	for _, u := range r.users {
		gap := int64(time.Hour)
		if u.answers > 0 {
			gap = int64(r.plan.Length) / u.answers
		}
		r.shard.Gap(gap)
	}
	for range r.plan.Connections - len(r.users) {
		r.shard.Gap(int64(time.Hour))
	}
}

// statusOf returns the status for an answer's code or, without a code, the kind of failure.
func statusOf(code int, kind load.Status) load.Status {
	if code >= 100 && code <= 999 {
		return load.Status(code)
	}
	return kind
}

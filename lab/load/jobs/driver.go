package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/record"
)

// Driver is a load.Driver that relays what a command prints. It drives once: a stream is read once.
type Driver struct {
	engine string
	r      io.Reader
}

var _ load.Driver = (*Driver)(nil)

// New returns the driver that reads a command's stdout from r. Engine names it in results. When r is an
// io.Closer, as a pipe's reading end is, Drive closes it as soon as its context is done and at its end,
// so that neither Drive waits for a command that hangs nor the command for a reader that is gone. With
// any other reader, Drive ends only when a Read returns.
func New(engine string, r io.Reader) *Driver { return &Driver{engine: engine, r: r} }

// Engine names the command in results.
func (d *Driver) Engine() string { return d.engine }

// Drive reads the stream to its last line. The plan is what the stream says: it starts with the first
// window, and what is measured are the windows of that phase, so the plan's own times do not count and
// the only bound of the drive's length is ctx. A stream that breaks the format, or ends without its last
// line, is an error, as is a job that says it failed; what it reported until then is recorded.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	if c, ok := d.r.(io.Closer); ok {
		stop := context.AfterFunc(ctx, func() { c.Close() })
		defer func() {
			if stop() {
				c.Close()
			}
		}()
	}
	s := newStream(d.r, monotonic.Now())
	relay := relay{plan: p, rec: rec}
	for {
		win, err := s.next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, io.EOF) && s.measured {
			return nil
		}
		if errors.Is(err, io.EOF) {
			err = errNoMeasure
		}
		if err == nil {
			err = relay.window(win)
		}
		if err != nil {
			return fmt.Errorf("the job's output, line %d: %w", s.line, err)
		}
	}
}

// relay enters windows into a recording, which begins with the first of them.
type relay struct {
	plan  *load.Plan
	rec   *load.Recorder
	shard *load.Shard
}

func (r *relay) window(w *window) error {
	if r.shard == nil {
		r.plan.Start = w.Start
		r.shard = r.rec.Shards(1)[0]
	}
	r.rec.EndAt(w.Start + int64(record.WindowLength))
	return r.shard.Window(&w.Window, w.hists)
}

package windows

import (
	"context"
	"errors"
	"fmt"
	"io"

	"dyno/agent/monotonic"
	"dyno/lab/load"
)

// Driver is a load.Driver that records the windows in a command's output. It drives only once,
// because the output can be read only once.
type Driver struct {
	engine string
	r      io.Reader
	now    func() int64 // monotonic.Now, except in tests
	steady bool
}

var _ load.Driver = (*Driver)(nil)

// New returns a driver that reads a command's stdout from r; engine names it in results. If r is
// an io.Closer, such as the reading end of a pipe, Drive closes it as soon as its context is
// done, and when it returns: Drive then does not wait for a command that hangs, nor the command
// for a reader that is gone. With any other reader, Drive ends only when a Read returns.
func New(engine string, r io.Reader) *Driver {
	return &Driver{engine: engine, r: r, now: monotonic.Now}
}

// NewSteady returns a driver that reads as New's does but decides itself which windows count:
// those in the plan's Length after its Warmup, which begins with the stream's first window, or
// with Drive if that is later. It ignores the stream's phases, and ends while the command is
// still working. It is for commands that know how much work there is, but not how long it takes.
func NewSteady(engine string, r io.Reader) *Driver {
	d := New(engine, r)
	d.steady = true
	return d
}

// Engine returns the name that New was given.
func (d *Driver) Engine() string { return d.engine }

// Drive reads the stream to its last line. The stream determines the plan: it starts with the
// first window, and the windows of phase measure are the measured ones. The plan's own times are
// ignored, and only ctx bounds the drive's length. A stream that breaks the format or ends
// without its last line is an error, and so is a job that reports a failure; the windows before
// that are recorded.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	if c, ok := d.r.(io.Closer); ok {
		defer closeBy(ctx, c)()
	}
	s := newStream(d.r, d.now)
	var err error
	if d.steady {
		err = relaySteady(ctx, s, p, rec)
	} else {
		err = relay(ctx, s, p, rec)
	}
	if ctx.Err() != nil {
		return ctx.Err() // the stream broke off because ctx was done
	}
	if err != nil {
		return fmt.Errorf("the job's output, line %d: %w", s.line, err)
	}
	return nil
}

// closeBy closes c as soon as ctx is done, or when the returned function is called.
func closeBy(ctx context.Context, c io.Closer) func() {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		c.Close()
	})
	return func() {
		if stop() {
			c.Close()
			return
		}
		<-closed
	}
}

// relay adds the stream's windows to a recording, which begins with the first of them.
func relay(ctx context.Context, s *stream, p *load.Plan, rec *load.Recorder) error {
	var shard *load.Shard
	for ctx.Err() == nil {
		w, err := s.next()
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if shard == nil {
			p.Start = w.Start
			shard = rec.Shards(1)[0]
		}
		rec.EndAt(w.Start + windowLength) // no empty windows follow it
		if err := shard.Window(&w.Window, w.hists); err != nil {
			return err
		}
	}
	return ctx.Err()
}

package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

var errStopped = errors.New("the coordinator stopped the load")

// share is an agent's part of a drive.
type share struct {
	*begin
	agent *Agent
	ctx   context.Context
	stop  context.CancelCauseFunc
	queue chan report // bounded by mostQueued

	skew   int64      // the agent's clock is ahead of monotonic.Now by this: 0, except in tests
	starts chan int64 // of sessions: receives the start, on the agent's clock; capacity 1
}

// mostQueued bounds the windows that the coordinator has not acknowledged yet: 25 s of windows.
const mostQueued = 250

// shortest is the least time before the start that a share needs to begin on time.
const shortest = int64(2 * time.Millisecond)

// begin starts a share. The caller holds mu.
func (a *Agent) begin(ctx context.Context, b *begin) error {
	if err := b.check(); err != nil {
		return err
	}
	w := a.workOf(b.Work)
	late := a.late(b.Start)
	switch {
	case w == nil:
		return errors.New("it does not have the work")
	case a.drive != nil:
		return errors.New("it is still busy with another load")
	case b.Sessions == 0 && late != nil:
		return late
	}
	s := &share{begin: b, agent: a, queue: make(chan report, mostQueued), skew: a.Clock() - monotonic.Now(), starts: make(chan int64, 1)}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	a.drive = s
	a.driving.Go(func() {
		s.carryOut(w)
		a.mu.Lock()
		a.drive = nil
		a.mu.Unlock()
		s.stop(nil)
	})
	return nil
}

// late returns an error if a start comes too soon for a share to begin on time.
func (a *Agent) late(start int64) error {
	if late := a.Clock() + shortest - start; late > 0 {
		return fmt.Errorf("it received the start %v too late", time.Duration(late).Round(time.Microsecond))
	}
	return nil
}

// start passes the start on to the sessions that are open. The caller holds mu.
func (a *Agent) start(o *start) error {
	s := a.drive
	if s == nil || s.Drive != o.Drive || s.Sessions == 0 {
		return errors.New("it has no sessions of that load")
	}
	if err := a.late(o.At); err != nil {
		return err
	}
	select {
	case s.starts <- o.At:
		return nil
	default:
		return errors.New("it has the start already")
	}
}

// opened reports that the share's sessions are open and waits for the start. The coordinator's
// silence ends the wait (Agent.watch).
func (s *share) opened(ctx context.Context) (start int64, err error) {
	s.queue <- report{Opened: true} // the first report: there is room
	select {
	case at := <-s.starts:
		return at - s.skew, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// plan returns the agent's part of the plan, on this process's clock.
func (s *share) plan() load.Plan {
	p := load.Plan{
		Connections: s.Connections, Warmup: s.Warmup, Length: s.Length, Drain: s.Drain, Timeout: s.Timeout, Lead: s.Lead, Units: s.Units,
		Classes: s.Classes, Count: s.Count, FirstSeq: s.FirstSeq + uint64(s.Index), Stride: uint64(s.Of),
		Phase: mod(s.Offset-s.skew, int64(record.WindowLength)),
	}
	switch {
	case s.Sessions > 0:
		p.Schedule, p.Begin = func() load.Schedule { return load.Turns(s.Spec.Open(), s.Index, s.Of, s.Sessions) }, s.opened
		return p
	case s.Spec != nil:
		p.Schedule = func() load.Schedule { return load.Stride(s.Spec.Open(), s.Index, s.Of) }
	}
	p.Start = s.Start - s.skew
	return p
}

// mod returns a modulo n, which is never negative.
func mod(a, n int64) int64 { return (a%n + n) % n }

// carryOut sends the share and reports to the coordinator.
func (s *share) carryOut(w *work) {
	defer load.PauseGC()()
	var reporting sync.WaitGroup
	reporting.Go(s.report)
	w.shared.Share(s.Index, s.Of)
	p := s.plan()
	offset := s.Offset - s.skew // from this process's clock to the coordinator's
	totals, done, err := load.Run(s.ctx, p, w.driver, sinkFunc(func(win record.Window, hists map[string]*hdrhistogram.Histogram) error {
		win.Start -= offset
		return s.window(win, hists)
	}))
	e := end{Next: done.NextSeq, Sent: totals.Sent, Ended: totals.Ended, Unfinished: totals.Unfinished, Agent: record.Agent{
		Name: s.agent.hello.Name, Offered: totals.Offered, Completed: totals.Completed, Failed: totals.Failed, Errors: occurred(totals.Errors), Lag: totals.Lag,
		CPUSeconds: totals.Generator.CPUSeconds, BusiestThread: totals.Generator.BusiestThread, Realtime: totals.Generator.Realtime,
	}}
	if done.Last > 0 {
		e.Last = max(0, done.Last-offset)
	}
	e.Notes, e.Protocol = driverNotes(w.driver)
	if cause := context.Cause(s.ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		e.Error = fmt.Sprintf("%.4000s", err)
	}
	select {
	case s.queue <- report{End: &e}:
	default: // the coordinator no longer takes reports
	}
	close(s.queue)
	reporting.Wait()
}

// driverNotes returns a driver's notes and protocol, shortened to what a report may hold.
func driverNotes(d load.Driver) (about []string, protocol string) {
	if n, ok := d.(load.Noting); ok {
		for _, text := range n.Notes() {
			if about = append(about, shortened(text)); len(about) == mostNotes {
				break
			}
		}
	}
	if n, ok := d.(load.Negotiating); ok {
		protocol = shortened(n.Protocol())
	}
	return about, protocol
}

func occurred(errors map[string]int64) map[string]int64 {
	out := maps.Clone(errors)
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

// sinkFunc makes a load.Sink of a function.
type sinkFunc func(record.Window, map[string]*hdrhistogram.Histogram) error

func (f sinkFunc) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	return f(w, hists)
}

// window queues a window for the coordinator. It does not wait: if the queue is full, it returns
// an error, which ends the load.
func (s *share) window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	var line bytes.Buffer
	if err := windows.NewWriter(&line).Window(w, hists); err != nil {
		return err
	}
	select {
	case s.queue <- report{Window: bytes.TrimSpace(line.Bytes())}:
		return nil
	default:
		return fmt.Errorf("the coordinator acknowledged no window for %v", mostQueued*record.WindowLength)
	}
}

// report sends the queued reports one by one, each until it is acknowledged. After a failure it
// stops the load and discards the rest.
func (s *share) report() {
	subject := fmt.Sprintf("%s%s.%d", driveSubject, s.Drive, s.Index)
	number, failed := 0, false
	for r := range s.queue {
		if failed {
			continue
		}
		number++
		r.Number = number
		if err := s.deliver(subject, encode(r)); err != nil {
			failed = true
			s.stop(fmt.Errorf("reporting to the coordinator: %w", err))
		}
	}
}

// deliver sends a report until the coordinator acknowledges it.
func (s *share) deliver(subject string, message []byte) error {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), asking/2)
		reply, err := s.agent.Network.Request(ctx, subject, message)
		cancel()
		switch {
		case err == nil:
			a, err := decode[answer](reply)
			if err == nil && a.Error != "" {
				err = errors.New(a.Error)
			}
			return err
		case errors.Is(err, ErrNoReceiver), time.Since(began) > silence:
			return err
		}
	}
}

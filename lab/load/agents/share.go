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
	queue chan report // bounded: a window is 100 ms
}

// mostQueued bounds the windows that the coordinator has not acknowledged: those of 25 s.
const mostQueued = 250

// shortest is the least time before the start at which a share can still begin.
const shortest = int64(2 * time.Millisecond)

// begin starts a share; mu is held.
func (a *Agent) begin(ctx context.Context, b *begin) error {
	if err := b.check(); err != nil {
		return err
	}
	w := a.workOf(b.Work)
	late := a.Clock() + shortest - b.Start
	switch {
	case w == nil:
		return errors.New("it does not have the work")
	case a.drive != nil:
		return errors.New("it is still busy with another load")
	case late > 0:
		return fmt.Errorf("it received the start %v too late", time.Duration(late).Round(time.Microsecond))
	}
	s := &share{begin: b, agent: a, queue: make(chan report, mostQueued)}
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

// plan returns the part of the schedule that is the agent's, on this process's clock.
func (s *share) plan() load.Plan {
	skew := s.agent.Clock() - monotonic.Now() // 0, except in tests
	p := load.Plan{
		Connections: s.Connections, Warmup: s.Warmup, Length: s.Length, Drain: s.Drain, Timeout: s.Timeout, Lead: s.Lead, Units: s.Units,
		Classes: s.Classes, Count: s.Count, FirstSeq: s.FirstSeq + uint64(s.Index), Stride: uint64(s.Of),
		Start: s.Start - skew, Phase: mod(s.Offset-skew, int64(record.WindowLength)),
	}
	if s.Spec != nil {
		p.Schedule = func() load.Schedule { return load.Stride(s.Spec.Open(), s.Index, s.Of) }
	}
	return p
}

// mod is a modulo n, from 0, also for an a below 0.
func mod(a, n int64) int64 { return (a%n + n) % n }

// carryOut sends the share and reports to the coordinator.
func (s *share) carryOut(w *work) {
	defer load.PauseGC()()
	var reporting sync.WaitGroup
	reporting.Go(s.report)
	w.shared.Share(s.Index, s.Of)
	p := s.plan()
	offset := s.Offset - (s.Start - p.Start) // of this process's clock
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
	default: // the coordinator takes nothing any more
	}
	close(s.queue)
	reporting.Wait()
}

// driverNotes returns what a driver says about failures and the protocol, as much of it as a report
// takes.
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

// occurred returns the kinds of errors of which there were some.
func occurred(errors map[string]int64) map[string]int64 {
	out := maps.Clone(errors)
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

// sinkFunc is a load.Sink.
type sinkFunc func(record.Window, map[string]*hdrhistogram.Histogram) error

func (f sinkFunc) Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error {
	return f(w, hists)
}

// window queues a window for the coordinator. It does not wait: a full queue ends the load.
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

// report sends what is queued, one by one, each until it is acknowledged. After a failure it stops
// the load and discards the rest.
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

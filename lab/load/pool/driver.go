// Package pool drives a target from goroutines: in the open model a pacing thread puts each call
// into a queue at its intended time, and the workers take the calls in order; in the closed model
// each worker makes its next call when the last one has ended. What a worker does with a call is
// a Doer.
//
// It knows no protocol, and it is not for the highest rates: http1 sends without goroutines. Drive
// owns the workers, the pacing thread and one goroutine that keeps the windows moving; all have
// ended when it returns.
package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/record"
)

// Doer does one unit of work. Many workers call Do concurrently; it must return soon after ctx is
// done, which is at the call's timeout or at the end of the run, since Drive waits for it.
type Doer interface {
	Do(ctx context.Context, o *Arrival) Result
}

// Connector is a Doer that prepares each worker before the run's start. A failure is not reported
// here: the worker's calls then fail.
type Connector interface {
	Connect(ctx context.Context, worker int)
}

// Arrival is one unit of work that is due.
type Arrival struct {
	Seq      uint64
	Intended int64 // ns, monotonic
	Index    int   // what Driver.Next returned for it
	Worker   int   // worker that does it: 0 to Plan.Connections-1; a worker does one call at a time
	Sent     int64 // ns, monotonic: when the worker took it

	run *poolRun
}

// Result describes how a unit of work ended; see load.Completion.
type Result struct {
	Status  load.Status
	Class   uint8
	Success bool
	Checked bool
	Failed  int // with units: the number that failed; 0: all, if not Success
}

// Driver is a load.Driver whose work Plan.Connections goroutines do. The queue grows as long as
// they are behind; it is bounded by the schedule and, since a call ends at its timeout, by the
// rate times Plan.Timeout.
type Driver struct {
	Name  string // name of the engine, in results
	Doer  Doer
	Think time.Duration // closed model: pause of a worker after each answer
	// Next returns the index of the next call's work, and false when there is no more work: the
	// load then ends early. Nil: work never ends, and Arrival.Index is 0.
	Next func() (index int, ok bool)
	// Stepwise is set by a Doer whose work is several requests: it reports each with the call's
	// SendStep and EndStep, bounds each by Plan.Timeout itself, and its context ends with the run.
	Stepwise bool

	sleep func(until int64) // for tests; nil: that of load.PacingThread
}

// Engine returns the driver's name.
func (p *Driver) Engine() string { return p.Name }

// Drive carries out the plan. If a Doer panics, its call counts as failed and Drive returns an
// error after the run.
func (p *Driver) Drive(ctx context.Context, plan *load.Plan, rec *load.Recorder) error {
	shards := rec.Shards(2)
	working, stop := context.WithDeadline(ctx, time.Now().Add(time.Duration(plan.DrainUntil()-monotonic.Now())))
	defer stop()
	r := &poolRun{pool: p, plan: plan, rec: rec, working: working, due: newBacklog(),
		arrivals: shards[0], outcomes: shards[1], next: math.MaxInt64, left: plan.Share(0, 1)}
	defer context.AfterFunc(working, r.due.wake)()
	var pacing, workers, turning sync.WaitGroup
	if plan.Open() {
		r.next = plan.Start
		pacing.Go(r.pace)
	}
	for k := range max(plan.Connections, 1) {
		workers.Go(func() { r.work(k) })
	}
	ended := make(chan struct{})
	turning.Go(func() { r.rotateWindows(ended) })
	pacing.Wait()
	workers.Wait()
	close(ended)
	turning.Wait()
	r.abandon()
	return errors.Join(r.panicked, ctx.Err())
}

// poolRun is one Drive.
type poolRun struct {
	pool    *Driver
	plan    *load.Plan
	rec     *load.Recorder
	working context.Context // done when nothing may be in flight any more
	due     *backlog

	mu       sync.Mutex
	arrivals *load.Shard // guarded by mu; its windows rotate with the schedule
	next     int64       // guarded by mu: the earliest instant of the next call
	outcomes *load.Shard // guarded by mu; its windows rotate with the clock
	left     int64       // guarded by mu: calls that the closed model may still make
	panicked error       // guarded by mu; the first panic
}

// rotateWindows advances the windows while nothing happens.
func (r *poolRun) rotateWindows(ended <-chan struct{}) {
	tick := time.NewTicker(record.WindowLength / 2)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		r.mu.Lock()
		now := monotonic.Now()
		r.arrivals.Advance(min(now, r.next))
		r.outcomes.Advance(now)
		r.mu.Unlock()
	}
}

// abandon reports the calls that no worker took.
func (r *poolRun) abandon() {
	now := monotonic.Now()
	for _, d := range r.due.drain() {
		r.outcomes.Unfinished(d.intended, now, 0)
	}
}

// arrive makes a call of the open model; ok is false if there is no more work.
func (r *poolRun) arrive(intended int64) (d due, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index, ok := r.nextWork()
	if !ok {
		return due{}, false
	}
	return due{seq: r.arrivals.Arrive(intended), intended: intended, index: index}, true
}

// nextWork returns the index of the next call's work; mu is held, so that work is in the order of
// the calls.
func (r *poolRun) nextWork() (index int, ok bool) {
	if r.pool.Next == nil {
		return 0, true
	}
	if index, ok = r.pool.Next(); !ok {
		r.rec.UsedUp()
	}
	return index, ok
}

// arriveNow makes a call of the closed model; ok is false when the plan's count is used up.
func (r *poolRun) arriveNow() (d due, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		return due{}, false
	}
	index, ok := r.nextWork()
	if !ok {
		return due{}, false
	}
	r.left--
	now := monotonic.Now() // with the lock held, so that a shard's calls are in order
	return due{seq: r.arrivals.Arrive(now), intended: now, index: index}, true
}

func (r *poolRun) work(worker int) {
	if c, ok := r.pool.Doer.(Connector); ok {
		c.Connect(r.working, worker)
	}
	if r.plan.Open() {
		r.serve(worker)
	} else {
		r.loop(worker)
	}
}

// serve takes due calls until there are no more.
func (r *poolRun) serve(worker int) {
	free := monotonic.Now()
	for {
		d, ok := r.due.take(r.working)
		if !ok {
			return
		}
		r.do(d, worker, free)
		free = monotonic.Now()
	}
}

// loop is the closed model: a worker makes its next call when the last one has ended.
func (r *poolRun) loop(worker int) {
	if !r.pause(time.Duration(r.plan.Start - monotonic.Now())) {
		return
	}
	for monotonic.Now() < r.plan.SendUntil() && r.working.Err() == nil {
		d, ok := r.arriveNow()
		if !ok {
			return
		}
		r.do(d, worker, d.intended)
		if r.pool.Think > 0 && !r.pause(r.pool.Think) {
			return
		}
	}
}

// pause waits; it returns false if the run ends first.
func (r *poolRun) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.working.Done():
		return false
	case <-timer.C:
		return true
	}
}

// do sends one call and reports how it ended. free is the instant since which the worker has
// been idle.
func (r *poolRun) do(d due, worker int, free int64) {
	sent := monotonic.Now()
	deadline := d.intended + int64(r.plan.Timeout)
	if r.plan.Timeout > 0 && sent >= deadline { // it timed out in the queue
		r.report(&load.Completion{Seq: d.seq, Intended: d.intended, Done: deadline, Status: load.Timeout})
		return
	}
	r.mu.Lock()
	r.outcomes.Sent(d.intended, sent, sent-max(d.intended, free))
	r.mu.Unlock()
	arrival := &Arrival{Seq: d.seq, Intended: d.intended, Index: d.index, Worker: worker, Sent: sent, run: r}
	if r.pool.Stepwise {
		r.doSteps(arrival)
		return
	}
	ctx, cancel := r.working, context.CancelFunc(func() {})
	if r.plan.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(deadline-sent))
	}
	result := r.call(ctx, arrival)
	cancel()
	now := monotonic.Now()
	if !result.Success && r.working.Err() != nil { // cut off by the end of the run
		r.mu.Lock()
		r.outcomes.Unfinished(d.intended, now, result.Class)
		r.mu.Unlock()
		return
	}
	if r.plan.Timeout > 0 && now > deadline && result.Success { // Do did not observe its context
		result = Result{Status: load.Timeout, Class: result.Class}
	}
	r.report(&load.Completion{Seq: d.seq, Intended: d.intended, Sent: sent, Done: now,
		Status: result.Status, Class: result.Class, Success: result.Success, Checked: result.Checked, Failed: result.Failed})
}

func (r *poolRun) report(o *load.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes.Done(o) // of a call of several steps, the latency of the first
}

// call does the work; it turns a panic into a failure.
func (r *poolRun) call(ctx context.Context, o *Arrival) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = Result{Status: load.Other}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.panicked == nil {
				r.panicked = fmt.Errorf("the driver's Do panicked: %v (at %s)", p, panicPlace())
			}
		}
	}()
	return r.pool.Doer.Do(ctx, o)
}

// panicPlace returns the line that panicked: the first one above the runtime's own frames.
func panicPlace() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	seen := false
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			seen = true
		} else if seen && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

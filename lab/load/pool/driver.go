// Package pool drives a target from goroutines. In the open model a pacing thread queues each
// call at its intended time, and workers take the calls in order. In the closed model each worker
// makes its next call when its last one has ended. A Doer carries out the calls.
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

// Doer does one unit of work. Many workers call Do concurrently. Drive waits for Do, so it must
// return soon after ctx is done: at the call's timeout or at the end of the run.
type Doer interface {
	Do(ctx context.Context, o *Arrival) Result
}

// Connector is a Doer that prepares each worker before the run's start. Connect reports no
// failure: if it fails, the worker's calls fail.
type Connector interface {
	Connect(ctx context.Context, worker int)
}

// Arrival is one unit of work that is due.
type Arrival struct {
	Seq      uint64
	Intended int64 // ns, monotonic
	Index    int   // what Driver.Next returned for it
	Worker   int   // number of the worker: 0 to Plan.Connections-1; a worker does one call at a time
	Sent     int64 // ns, monotonic: when the worker took it

	run *poolRun
}

// Result describes how a unit of work ended; see load.Completion.
type Result struct {
	Status  load.Status
	Class   uint8
	Success bool
	Checked bool
	Failed  int // with units: the number of units that failed; 0: all, unless Success
}

// Driver is a load.Driver that does its work in Plan.Connections goroutines. The queue grows
// while they fall behind. Its length is bounded by the schedule and, since calls end at their
// timeout, by the rate times Plan.Timeout.
type Driver struct {
	Name  string // name of the engine, in results
	Doer  Doer
	Think time.Duration // closed model: pause of a worker after each answer
	// Next returns the index of the next call's work; ok is false when no work is left, which
	// ends the load early. If Next is nil, work never runs out and Arrival.Index is 0.
	Next func() (index int, ok bool)
	// Stepwise is set for a Doer whose call makes several requests. Such a Doer reports each with
	// the Arrival's SendStep and EndStep, and applies Plan.Timeout to each itself; its context is
	// done only at the end of the run.
	Stepwise bool

	sleep func(until int64) // replaced by tests; nil: use load.PacingThread
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

// poolRun is the state of one Drive.
type poolRun struct {
	pool    *Driver
	plan    *load.Plan
	rec     *load.Recorder
	working context.Context // done at the end of the drain
	due     *backlog

	mu       sync.Mutex
	arrivals *load.Shard // guarded by mu; its windows rotate with the schedule
	next     int64       // guarded by mu: the earliest instant of the next call
	outcomes *load.Shard // guarded by mu; its windows rotate with the clock
	left     int64       // guarded by mu: calls that the closed model may still make
	panicked error       // guarded by mu; the first panic
}

// rotateWindows closes windows on time even if no call arrives or ends.
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

// arrive creates a call of the open model; ok is false if no work is left.
func (r *poolRun) arrive(intended int64) (d due, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index, ok := r.nextWork()
	if !ok {
		return due{}, false
	}
	return due{seq: r.arrivals.Arrive(intended), intended: intended, index: index}, true
}

// nextWork returns the index of the next call's work. The caller holds mu, so that work and calls
// have the same order.
func (r *poolRun) nextWork() (index int, ok bool) {
	if r.pool.Next == nil {
		return 0, true
	}
	if index, ok = r.pool.Next(); !ok {
		r.rec.UsedUp()
	}
	return index, ok
}

// arriveNow creates a call of the closed model; ok is false if the plan's count or the work is
// used up.
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
	now := monotonic.Now() // read with the lock held, so that the shard's calls are in order
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

// serve takes and does due calls until there are no more.
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

// loop runs a worker of the closed model: it makes its next call when the last one has ended.
func (r *poolRun) loop(worker int) {
	if !load.Pause(r.working, time.Duration(r.plan.Start-monotonic.Now())) {
		return
	}
	for monotonic.Now() < r.plan.SendUntil() && r.working.Err() == nil {
		d, ok := r.arriveNow()
		if !ok {
			return
		}
		r.do(d, worker, d.intended)
		if r.pool.Think > 0 && !load.Pause(r.working, r.pool.Think) {
			return
		}
	}
}

// do carries out one call and reports how it ended. free is the instant since which the worker
// has been idle.
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
	if !result.Success && r.working.Err() != nil { // the end of the run cut it off
		r.mu.Lock()
		r.outcomes.Unfinished(d.intended, now, result.Class)
		r.mu.Unlock()
		return
	}
	if r.plan.Timeout > 0 && now > deadline && result.Success { // Do ignored its context
		result = Result{Status: load.Timeout, Class: result.Class}
	}
	r.report(&load.Completion{Seq: d.seq, Intended: d.intended, Sent: sent, Done: now,
		Status: result.Status, Class: result.Class, Success: result.Success, Checked: result.Checked, Failed: result.Failed})
}

func (r *poolRun) report(o *load.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes.Done(o) // for a call of several steps, this is the latency of the first
}

// call calls Do; it turns a panic into a failure.
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

// panicPlace returns the file and line that panicked: the first frame above the runtime's own.
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

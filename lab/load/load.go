// Package load sends load to a target and records how every request ended. It holds what all
// kinds of load share: the schedule, which is fixed before the run so that the target cannot
// influence it; the plan, which says how to carry a schedule out; functions that wait for its
// instants; and the recorder with its windows of 100 ms. A Driver sends the work: requests
// (http1, nethttp), any call (pool), or a job that works through units and reports its progress
// (windows).
//
// In the open model a request's latency counts from the time at which the schedule intended it to
// be sent, even if it waited in a queue, so a stall of the target shows in every request that was
// due during the stall. (A generator that waits for an answer before it sends the next request
// hides the stall; that error is called "coordinated omission".) Nothing is dropped: a request
// that was scheduled and has not ended by the end of the run is counted, and enters the histogram
// with its age.
//
// The package does not search for a rate (capacity) and does not start targets (environment). Run
// owns the recorder's goroutine and each driver owns its threads; all have ended when Run
// returns.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Plan describes when to send and for how long.
type Plan struct {
	// Schedule returns the intended times over Warmup+Length; each call begins anew. Nil selects
	// the closed model: every connection sends again as soon as it has its answer.
	Schedule func() Schedule
	// Spec describes Schedule to other processes that share the load; nil: it cannot be described.
	// Follow sets both.
	Spec *ScheduleSpec
	// Connections is the number of connections, sessions or workers that carry the load.
	Connections int
	Warmup      time.Duration // load that is not counted
	Length      time.Duration // measured; rounded up to whole windows
	Drain       time.Duration // time for requests in flight at the end; ends early when all are done
	Timeout     time.Duration // time limit of a request, from its intended time
	// Units is the number of units of work in a request, such as the calls of an array: all counts and
	// rates of the recording are in units. 0: 1.
	Units int
	// Classes names the request classes; a driver reports a class by its index. It may be empty.
	Classes []string
	// Steps is set if other processes record the windows and each response in them is to a step
	// of a flow: there are then more responses than flows.
	Steps bool
	// Deliveries is the maximum number of requests that may wait for their delivery concurrently;
	// 0: deliveries are not reported.
	Deliveries int
	// Count ends a closed plan after that many requests in total (whatever their units), unless
	// Length ends it first; 0: only Length ends it.
	Count int64
	// FirstSeq is the first request's sequence number. Plans that run one after the other and
	// have the same run name in their requests must not reuse numbers.
	FirstSeq uint64
	// Stride is the distance between the sequence numbers of this process's requests, if several
	// processes share a load. 0: 1.
	Stride uint64
	// Phase shifts the starts of windows, in ns, from the multiples of their length, so that the
	// windows of processes with different clocks coincide.
	Phase int64
	// Lead is the time before the start in which connections can be made. 0: 100 ms.
	Lead time.Duration

	// Begin returns the start, for a load of sessions that several processes share: they begin at one
	// instant, when all have opened theirs. A driver calls it when its sessions are open or have failed
	// to open. Nil: the driver chooses.
	Begin func(context.Context) (start int64, err error)

	// Start is the schedule's zero on the monotonic clock; if it is 0, Run sets it to the start
	// of a window. A driver whose work chooses its own start may change it before it calls
	// Recorder.Shards.
	Start int64
	// NextSeq is the number after the last one used; Run sets it.
	NextSeq uint64
	// Last is the instant of the latest answer or delivery, ns; Run sets it. 0: there was none.
	Last int64
}

// MeasureFrom is the first measured instant.
func (p *Plan) MeasureFrom() int64 { return p.Start + int64(p.Warmup) }

// SendUntil is the instant at which sending ends.
func (p *Plan) SendUntil() int64 { return p.MeasureFrom() + int64(p.Length) }

// DrainUntil is the instant at which requests in flight count as unfinished.
func (p *Plan) DrainUntil() int64 { return p.SendUntil() + int64(p.Drain) }

func (p *Plan) lead() time.Duration { return cmp.Or(p.Lead, defaultLead) }

// Share returns the number of requests that the k-th of n threads may make in a closed plan.
func (p *Plan) Share(k, n int) int64 {
	if p.Count == 0 {
		return math.MaxInt64
	}
	share := p.Count / int64(n)
	if int64(k) < p.Count%int64(n) {
		share++
	}
	return share
}

// Follow makes the plan follow a schedule that other processes can make, too.
func (p *Plan) Follow(s ScheduleSpec) { p.Spec, p.Schedule = &s, s.Open }

// windowOf returns the start of the window that contains an instant.
func (p *Plan) windowOf(at int64) int64 { return (at-p.Phase)/window*window + p.Phase }

// Open reports whether the plan follows a schedule.
func (p *Plan) Open() bool { return p.Schedule != nil }

// ErrUsedUp is returned by Run if the load ended early because every request may be sent only
// once and all were.
var ErrUsedUp = errors.New("the corpus is used up")

// GeneratorError is returned by Run if a part of the load generator failed. The target did not
// cause it, and what was measured until then does not count.
type GeneratorError struct{ Err error }

func (e *GeneratorError) Error() string { return "the load generator failed: " + e.Err.Error() }
func (e *GeneratorError) Unwrap() error { return e.Err }

// Driver sends one kind of work.
type Driver interface {
	// Engine names the driver in results: raw-epoll, raw-uring, std.
	Engine() string
	// Drive carries out the plan and reports the end of every request to rec. It connects before
	// p.Start, sends until p.SendUntil, waits for requests in flight until p.DrainUntil or until
	// ctx is done, reports the others as unfinished, and returns when all its threads have ended.
	// An unreachable target is a result (every request fails), not an error.
	Drive(ctx context.Context, p *Plan, rec *Recorder) error
}

// Sink receives each finished window, in order, with its histograms by tag; it must not keep
// them. folder.Writer is a Sink.
type Sink interface {
	Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error
}

// defaultLead is the lead of a plan that sets none.
const defaultLead = 100 * time.Millisecond

// Deliveries passes the deliveries that a sink or node reports to Recorder.Delivered until its
// context is done. If it ends for any other reason, it returns an error, which ends the run.
type Deliveries func(context.Context, *Recorder) error

// Run carries out the plan. It returns the totals together with the plan as it was carried out.
// When ctx is done, or when the driver, the sink or a reader of deliveries fails, it stops early
// and returns the totals so far with the error.
func Run(ctx context.Context, p Plan, d Driver, sink Sink, deliveries ...Deliveries) (record.Totals, *Plan, error) {
	p.Warmup = roundUp(p.Warmup)
	p.Length = max(roundUp(p.Length), record.WindowLength)
	if p.Start == 0 {
		p.Start = monotonic.Now() + int64(p.lead())
	}
	if p.Count == 0 { // a plan by count may begin and end anywhere in a window
		p.Start = p.windowOf(p.Start + window - 1)
	}
	driving, stop := context.WithCancel(ctx)
	defer stop()
	rec := newRecorder(&p, sink, stop)
	var readers sync.WaitGroup
	for _, read := range deliveries {
		readers.Go(func() {
			if err := read(driving, rec); err != nil && driving.Err() == nil {
				rec.fail(fmt.Errorf("following deliveries: %w", err))
			}
		})
	}
	err := d.Drive(driving, &p, rec)
	if err == nil && len(deliveries) > 0 {
		rec.awaitDeliveries(driving, p.DrainUntil())
	}
	if driving.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // ctx.Err and rec.failure, joined below, have the reason
	}
	stop()
	readers.Wait()
	if err == nil && rec.usedUp.Load() {
		err = ErrUsedUp
	}
	totals := rec.finish(monotonic.Now())
	return totals, &p, errors.Join(err, rec.failure, ctx.Err())
}

func roundUp(d time.Duration) time.Duration {
	return (d + record.WindowLength - 1) / record.WindowLength * record.WindowLength
}

// Package load drives a target and records what came of it. What all kinds of load share lives here:
// the schedule, fixed before the run; the recorder, with its windows of 100 ms; and the plan. How work
// is sent is a Driver's affair: requests (raw, std), long-lived sessions, or a job that works through
// units and reports its progress.
//
// In the open model an offer's latency counts from the time the schedule intended it to be sent, through
// any backlog, so a stall of the target is seen by every offer that fell into it ("coordinated omission"
// is what a generator does that waits instead). Nothing is dropped: an offer that was scheduled and has
// not finished at the end is counted, and enters the histogram at its age.
//
// The package is not for finding a rate (capacity) or for starting a target (target). Run owns the
// recorder's goroutine; each driver owns its threads; all have ended when Run returns.
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

// Plan is when to offer work and for how long.
type Plan struct {
	// Schedule returns the intended times, afresh at each call, over Warmup+Length. Nil asks for the
	// closed model: every connection sends again as soon as it was answered.
	Schedule func() Schedule
	// Connections is how many connections, sessions or workers carry the load.
	Connections int
	Warmup      time.Duration // driven but not counted
	Length      time.Duration // measured; rounded up to whole windows
	Drain       time.Duration // how long what is under way at the end may still take; ends early when all is done
	Timeout     time.Duration // of an offer, from its intended time
	// Classes names the request classes; a driver reports a class by its index. May be empty.
	Classes []string
	// Deliveries is how many offers may await their receipt at once; 0: there are no receipts.
	Deliveries int
	// Count ends a closed plan after as many offers in all, when that is before Length; 0: Length alone ends it.
	Count int64
	// FirstSeq is the first offer's sequence number: plans that are driven one after the other with the same run's name in
	// their requests must not use a number twice.
	FirstSeq uint64
	// Lead is how long before the start connections can be made. 0: 100 ms.
	Lead time.Duration

	// Start is the schedule's zero on the monotonic clock; Run sets it to a window's start when 0. A
	// driver whose work begins when it likes may move it before it calls Recorder.Shards.
	Start int64
	// NextSeq is the number after the last one that was used; Run sets it.
	NextSeq uint64
	// Last is the instant of the latest answer or receipt, ns; Run sets it. 0: there was none.
	Last int64
}

// MeasureFrom is the first measured instant.
func (p *Plan) MeasureFrom() int64 { return p.Start + int64(p.Warmup) }

// OfferUntil is the instant after which nothing more is offered.
func (p *Plan) OfferUntil() int64 { return p.MeasureFrom() + int64(p.Length) }

// DrainUntil is the instant at which what is under way counts as unfinished.
func (p *Plan) DrainUntil() int64 { return p.OfferUntil() + int64(p.Drain) }

func (p *Plan) lead() time.Duration { return cmp.Or(p.Lead, defaultLead) }

// Share is how many offers the k-th of n threads may make in the closed model.
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

// Open reports whether the plan follows a schedule.
func (p *Plan) Open() bool { return p.Schedule != nil }

// Driver sends one kind of work.
type Driver interface {
	// Engine names the driver in results: raw-epoll, raw-uring, std.
	Engine() string
	// Drive carries out the plan and reports every offer's fate to rec. It connects before p.Start, sends
	// until p.OfferUntil, waits for what is under way until p.DrainUntil or until ctx is done, reports the
	// rest as unfinished, and returns when all its threads have ended. A target that cannot be reached at
	// all is a result (every offer fails), not an error.
	Drive(ctx context.Context, p *Plan, rec *Recorder) error
}

// Sink receives each finished window, in order, with its histograms by tag. It must keep neither.
// record.Writer is one.
type Sink interface {
	Window(w record.Window, hists map[string]*hdrhistogram.Histogram) error
}

// defaultLead is how long before its start a plan is handed to the driver unless it says otherwise.
const defaultLead = 100 * time.Millisecond

// Receipts follows the receipts of a sink and passes them to Recorder.Delivered until its context is
// done. Any other end is an error, which ends the run.
type Receipts func(context.Context, *Recorder) error

// Run drives the plan to its end and returns its totals with the plan as it was carried out. When ctx is
// done it stops early and returns what was measured until then together with ctx's error; a failing
// driver, sink or receipts reader ends it likewise.
func Run(ctx context.Context, p Plan, d Driver, sink Sink, receipts ...Receipts) (record.Totals, *Plan, error) {
	p.Warmup = roundUp(p.Warmup)
	p.Length = max(roundUp(p.Length), record.WindowLength)
	if p.Start == 0 {
		p.Start = monotonic.Now() + int64(p.lead())
	}
	if p.Count == 0 { // a plan by count is over when it is over, wherever in a window
		p.Start = (p.Start + window - 1) / window * window
	}
	driving, stop := context.WithCancel(ctx)
	defer stop()
	rec := newRecorder(&p, sink, stop)
	var readers sync.WaitGroup
	for _, read := range receipts {
		readers.Go(func() {
			if err := read(driving, rec); err != nil && driving.Err() == nil {
				rec.fail(fmt.Errorf("following receipts: %w", err))
			}
		})
	}
	err := d.Drive(driving, &p, rec)
	if err == nil && len(receipts) > 0 {
		rec.awaitDeliveries(driving, p.DrainUntil())
	}
	if driving.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // why it was cancelled is known here
	}
	stop()
	readers.Wait()
	totals := rec.finish(monotonic.Now())
	return totals, &p, errors.Join(err, rec.failure, ctx.Err())
}

func roundUp(d time.Duration) time.Duration {
	return (d + record.WindowLength - 1) / record.WindowLength * record.WindowLength
}

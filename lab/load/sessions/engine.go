package sessions

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/record"
)

const (
	// openers bounds the sessions that are being opened concurrently; openEvery spaces their
	// beginnings. At 1,000 per second, a server may stall for seconds before its accept queue of
	// 4,096 is full.
	openers   = 64
	openEvery = time.Millisecond
	// openTimeout bounds the opening of a session if the plan has no timeout.
	openTimeout = 10 * time.Second
	// lead is the time between the opening of the last session and the start of the schedule.
	lead   = 100 * time.Millisecond
	window = int64(record.WindowLength)
	// mostSenders bounds the sending goroutines: each has its own thread, which can send 100,000
	// small messages per second.
	mostSenders = 4
)

// Engine is a load.Driver that drives Plan.Connections sessions. The messages of the plan's
// schedule go to the sessions in turn.
type Engine struct {
	Name   string // of the driver, in results
	Driver Driver

	failures    load.Notes
	first, step int // the i-th session has index first + i*step; see Share
}

// Share makes the sessions those of the k-th (from 0) of n processes that share a load: every n-th,
// beginning with the k-th. It is called between drives, never during one.
func (e *Engine) Share(k, n int) { e.first, e.step = k, n }

// Notes returns why sessions were lost or did not open, followed by the Driver's own notes.
func (e *Engine) Notes() []string {
	out := e.failures.Notes()
	if d, ok := e.Driver.(load.Noting); ok {
		out = append(out, d.Notes()...)
	}
	return out
}

var _ load.Driver = (*Engine)(nil)

// Engine returns the driver's name.
func (e *Engine) Engine() string { return e.Name }

// Drive opens the sessions and carries out the plan. It moves the plan's start to a time when
// each session is open or has failed to open, unless the plan has a Begin.
func (e *Engine) Drive(ctx context.Context, plan *load.Plan, rec *load.Recorder) error {
	if !plan.Open() {
		return errors.New("sessions follow a schedule; a closed model has none")
	}
	living, end := context.WithCancel(context.WithoutCancel(ctx)) // sessions outlive ctx, so that none counts as lost
	defer end()
	n := max(plan.Connections, 1)
	senders := max(1, min(n, runtime.GOMAXPROCS(0)/2, mostSenders))
	d := &drive{plan: plan, driver: e.Driver, first: e.first, step: max(e.step, 1), failures: &e.failures, sessions: make([]session, n), groups: make([]group, senders), timeout: int64(cmp.Or(plan.Timeout, math.MaxInt64))}
	for i := range d.sessions {
		s := &d.sessions[i]
		s.unopened = load.Timeout
		s.group = &d.groups[i%senders]
		s.group.failures = d.failures
		s.group.sessions = append(s.group.sessions, s)
	}
	if c, ok := e.Driver.(io.Closer); ok {
		defer c.Close()
	}
	d.openAll(ctx, living)
	if err := begin(ctx, plan); err != nil {
		end()
		d.receiving.Wait()
		return err
	}
	shards := rec.Shards(2 * senders)
	var sending, turning sync.WaitGroup
	for k := range d.groups {
		g := &d.groups[k]
		g.begin(plan, shards[2*k], shards[2*k+1])
		sending.Go(func() { d.send(ctx, living, k) })
	}
	done := make(chan struct{})
	turning.Go(func() { d.turn(done) })
	sending.Wait()
	d.drain(ctx)
	close(done)
	turning.Wait()
	for k := range d.groups {
		d.groups[k].finish(plan)
	}
	end()
	d.receiving.Wait()
	return ctx.Err()
}

// begin sets the plan's start, now that the sessions are open.
func begin(ctx context.Context, plan *load.Plan) (err error) {
	if plan.Begin != nil {
		plan.Start, err = plan.Begin(ctx)
		return err
	}
	if first := monotonic.Now() + int64(lead); first > plan.Start {
		plan.Start = (first + window - 1) / window * window
	}
	return nil
}

type drive struct {
	plan      *load.Plan
	driver    Driver
	first     int // index of the first session in the whole load, and the distance to the next
	step      int
	failures  *load.Notes
	sessions  []session
	groups    []group // the session with index i belongs to group i mod their number
	timeout   int64   // of a message, ns
	receiving sync.WaitGroup
}

// openAll returns when every session is open or has failed to open. Open sessions receive from
// then on.
func (d *drive) openAll(ctx, living context.Context) {
	timeout := cmp.Or(d.plan.Timeout, openTimeout)
	begin := time.Now()
	// A server that does not answer costs one timeout for each 64 sessions; this deadline bounds
	// the whole.
	ctx, cancel := context.WithDeadline(ctx, begin.Add(time.Duration(len(d.sessions))*openEvery+2*timeout))
	defer cancel()
	var next atomic.Int64
	var opening sync.WaitGroup
	for range min(openers, len(d.sessions)) {
		opening.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(d.sessions) {
					return
				}
				if load.Pause(ctx, time.Until(begin.Add(time.Duration(i)*openEvery))) {
					d.open(ctx, living, i, timeout)
				}
			}
		})
	}
	opening.Wait()
}

func (d *drive) open(ctx, living context.Context, i int, timeout time.Duration) {
	s := &d.sessions[i]
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := monotonic.Now()
	conn, err := d.driver.Open(bounded, d.first+i*d.step)
	if err != nil {
		s.unopened = load.StatusOf(err)
		d.failures.Add("sessions that did not open", err)
		return
	}
	s.conn, s.opening = conn, monotonic.Now()-began
	living, end := context.WithCancel(living)
	s.end = end
	d.receiving.Go(func() {
		defer s.conn.Close()
		defer end()
		s.receive(living)
	})
}

// send sends the messages of a group's sessions at their intended times, until the plan's sending
// ends.
func (d *drive) send(ctx, living context.Context, k int) {
	g, sleep := &d.groups[k], load.PacingThread()
	next := d.plan.Schedule()
	living, cancel := context.WithDeadline(living, time.Now().Add(time.Duration(d.plan.DrainUntil()-monotonic.Now())))
	defer cancel()
	until := d.plan.SendUntil()
	for m := 0; ; m++ {
		at, ok := next()
		at += d.plan.Start
		if !ok || at >= until {
			break
		}
		i := m % len(d.sessions)
		if i%len(d.groups) != k {
			continue
		}
		g.awaits(at)
		if !load.WaitUntil(ctx, at, sleep) {
			break
		}
		g.send(living, &d.sessions[i], at)
	}
	g.awaits(math.MaxInt64)
	load.Pause(ctx, time.Duration(until-monotonic.Now()))
}

// turn advances the windows even if nothing happens, and ends the messages that have timed out.
func (d *drive) turn(done <-chan struct{}) {
	tick := time.NewTicker(record.WindowLength / 2)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for k := range d.groups {
			d.groups[k].turn(d.timeout)
		}
	}
}

// drain waits until no message is pending, or until the plan's drain is over.
func (d *drive) drain(ctx context.Context) {
	for monotonic.Now() < d.plan.DrainUntil() && d.pending() && load.Pause(ctx, time.Millisecond) {
	}
}

func (d *drive) pending() bool {
	for k := range d.groups {
		if d.groups[k].pending() {
			return true
		}
	}
	return false
}

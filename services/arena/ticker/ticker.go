// Package ticker calls a function at absolute deadlines: tick k is due at the start plus k periods,
// however long the ticks before it took, so that a simulation neither drifts nor skips a tick.
//
//	err := ticker.Run(ctx, ticker.Options{Period: time.Second / 30, Observer: metrics}, room.tick)
//
// After a tick that took longer than its period, those that became due meanwhile run immediately,
// one after another, until none is due. Each reports its own lateness. Where more than
// Options.Backlog is due (the process was stopped for a while, or the machine is too slow for the
// work), what was missed is dropped and reported, and the schedule starts again. While a machine is
// suspended, the monotonic clock of Linux and macOS stands still: no tick becomes due in that time.
//
// It is not for many timers (services/notify/wheel has those), nor for work that may skip a tick
// (time.Ticker does). It starts no goroutines: Run uses its caller's.
package ticker

import (
	"context"
	"fmt"
	"time"
)

// Observer receives how punctual the ticks are, on the goroutine that runs them, which it must not
// hold up.
type Observer interface {
	Began(late time.Duration)   // before each tick: the time since its deadline
	Overran(took time.Duration) // after a tick that took longer than the period
	Restarted(dropped int)      // after more than the backlog was due: ticks that never run
}

// Options of Run.
type Options struct {
	Period   time.Duration // from one deadline to the next; more than 0
	Backlog  time.Duration // the oldest deadline that is still met late; 0 means 10 s
	Observer Observer      // nil means none
}

// Run calls tick at each deadline until the context ends, and lets a running tick finish. The first
// deadline is one period after its call. The error is that of Options; the end of the context is
// none.
func Run(ctx context.Context, o Options, tick func()) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	s := schedule{o, time.Now().Add(o.Period)}
	alarm := time.NewTimer(o.Period)
	defer alarm.Stop()
	for await(ctx, alarm, s.due) {
		s.meet(tick)
	}
	return nil
}

// checked returns the options with their defaults.
func (o Options) checked() (Options, error) {
	if o.Period <= 0 {
		return o, fmt.Errorf("ticker: the period is %v: it must be more than 0", o.Period)
	}
	if o.Backlog == 0 {
		o.Backlog = 10 * time.Second
	}
	if o.Observer == nil {
		o.Observer = none{}
	}
	return o, nil
}

// schedule is the deadlines of one tick.
type schedule struct {
	Options
	due time.Time
}

// meet runs a tick that is due.
func (s *schedule) meet(tick func()) {
	began := time.Now()
	if late := began.Sub(s.due); late > s.Backlog {
		s.Observer.Restarted(int(late / s.Period))
		s.due = began
	}
	s.Observer.Began(began.Sub(s.due))
	tick()
	if took := time.Since(began); took > s.Period {
		s.Observer.Overran(took)
	}
	s.due = s.due.Add(s.Period)
}

// await waits until a deadline, and reports whether the context still lasts.
func await(ctx context.Context, alarm *time.Timer, due time.Time) bool {
	if left := time.Until(due); left > 0 {
		alarm.Reset(left)
		select {
		case <-alarm.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

type none struct{}

func (none) Began(time.Duration)   {}
func (none) Overran(time.Duration) {}
func (none) Restarted(int)         {}

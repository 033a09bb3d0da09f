package room

import (
	"context"
	"fmt"
	"time"
)

// tickObserver receives how punctual the ticks are, on the goroutine that runs them, which it must
// not hold up.
type tickObserver interface {
	Began(late time.Duration)   // before each tick: the time since its deadline
	Overran(took time.Duration) // after a tick that took longer than the period
	Restarted(dropped int)      // after more than the backlog was due: ticks that never run
}

// tickOptions are those of runTicks.
type tickOptions struct {
	period   time.Duration // from one deadline to the next; more than 0
	backlog  time.Duration // the oldest deadline that is still met late; 0 means 10 s
	observer tickObserver  // nil means none
}

// runTicks calls tick at absolute deadlines: tick k is due at the start plus k periods, however
// long the ticks before it took, so that a simulation neither drifts nor skips a tick. It does so
// until the context ends, and lets a running tick finish. The error is that of the options; the end
// of the context is none. It starts no goroutines.
//
// After a tick that took longer than its period, those that became due meanwhile run immediately,
// one after another, until none is due. Each reports its own lateness. Where more than the backlog
// is due (the process was stopped for a while, or the machine is too slow for the work), what was
// missed is dropped and reported, and the schedule starts again. While a machine is suspended, the
// monotonic clock of Linux and macOS stands still: no tick becomes due in that time.
func runTicks(ctx context.Context, o tickOptions, tick func()) error {
	o, err := o.checked()
	if err != nil {
		return err
	}
	s := schedule{o, time.Now().Add(o.period)}
	alarm := time.NewTimer(o.period)
	defer alarm.Stop()
	for await(ctx, alarm, s.due) {
		s.meet(tick)
	}
	return nil
}

// checked returns the options with their defaults.
func (o tickOptions) checked() (tickOptions, error) {
	if o.period <= 0 {
		return o, fmt.Errorf("the period of ticks is %v: it must be more than 0", o.period)
	}
	if o.backlog == 0 {
		o.backlog = 10 * time.Second
	}
	if o.observer == nil {
		o.observer = unobserved{}
	}
	return o, nil
}

// schedule is the deadlines of one tick.
type schedule struct {
	tickOptions
	due time.Time
}

// meet runs a tick that is due.
func (s *schedule) meet(tick func()) {
	began := time.Now()
	if late := began.Sub(s.due); late > s.backlog {
		s.observer.Restarted(int(late / s.period))
		s.due = began
	}
	s.observer.Began(began.Sub(s.due))
	tick()
	if took := time.Since(began); took > s.period {
		s.observer.Overran(took)
	}
	s.due = s.due.Add(s.period)
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

type unobserved struct{}

func (unobserved) Began(time.Duration)   {}
func (unobserved) Overran(time.Duration) {}
func (unobserved) Restarted(int)         {}

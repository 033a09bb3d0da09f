package agent

import (
	"math"
	"sync/atomic"
	"time"
)

// gaugeTimeout bounds the wait for one gauge. A gauge reads a counter or briefly takes a lock; 5
// ms is a twentieth of the interval between samples.
const gaugeTimeout = 5 * time.Millisecond

// gauge reads a figure of the service in a goroutine; the sampler waits for it for a bounded
// time.
type gauge struct {
	name   string
	read   func() float64
	busy   atomic.Bool
	answer chan float64 // of the reading in progress; buffered, so that a late reading does not block
	run    func()       // allocated once, so that starting a reading allocates nothing
}

func newGauge(name string, read func() float64) *gauge {
	g := &gauge{name: name, read: read, answer: make(chan float64, 1)}
	g.run = func() {
		defer g.busy.Store(false)
		defer func() {
			if recover() != nil {
				g.answer <- math.NaN()
			}
		}()
		g.answer <- g.read()
	}
	return g
}

// value returns a fresh reading; false if the previous reading is still in progress, or this one
// panicked, was not finite or took too long. Only one sampler may call it at a time. The timer is
// the caller's, for reuse.
func (g *gauge) value(timer *time.Timer) (float64, bool) {
	if !g.busy.CompareAndSwap(false, true) {
		return 0, false
	}
	select {
	case <-g.answer: // the result of a reading that timed out
	default:
	}
	go g.run()
	timer.Reset(gaugeTimeout)
	select {
	case v := <-g.answer:
		timer.Stop()
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case <-timer.C:
		return 0, false
	}
}

// wait waits for a reading in progress, until the timer fires. No sampler may be running.
func (g *gauge) wait(timer *time.Timer) {
	if g.busy.Load() {
		select {
		case <-g.answer:
		case <-timer.C:
			timer.Reset(0) // expired for the remaining gauges
		}
	}
}

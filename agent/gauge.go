package agent

import (
	"math"
	"sync/atomic"
	"time"
)

// gaugePatience is how long a sample waits for one gauge. A gauge reads a counter or takes a lock
// for a moment; 5 ms is a twentieth of the distance between samples.
const gaugePatience = 5 * time.Millisecond

// gauge reads a figure of the service's own in a goroutine that its sampler waits for with patience,
// not for ever.
type gauge struct {
	name   string
	read   func() float64
	busy   atomic.Bool
	answer chan float64 // of the reading under way; holds one, so that a late reading does not block
	run    func()       // made once, so that starting it does not allocate
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

// value returns a fresh reading, or false when there was none to be had: the reading before is still
// under way, or this one panicked, was not finite or took too long. Only one sampler may call it at a
// time. The timer is the caller's, for reuse.
func (g *gauge) value(timer *time.Timer) (float64, bool) {
	if !g.busy.CompareAndSwap(false, true) {
		return 0, false
	}
	select {
	case <-g.answer: // of a reading that nobody waited for any longer
	default:
	}
	go g.run()
	timer.Reset(gaugePatience)
	select {
	case v := <-g.answer:
		timer.Stop()
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case <-timer.C:
		return 0, false
	}
}

// wait waits for a reading that is still under way, until the timer fires. No sampler may be running.
func (g *gauge) wait(timer *time.Timer) {
	if g.busy.Load() {
		select {
		case <-g.answer:
		case <-timer.C:
			timer.Reset(0) // for the gauges after this one
		}
	}
}

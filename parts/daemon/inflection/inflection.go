// Package inflection recognises the moment at which a service tips over: it answers fewer requests
// than before, they take several times as long, and the garbage collector pauses it for longer. One
// of them alone has other causes: fewer requests come in, a dependency is slow, a cache is refilled.
//
// The rule follows a published one for a service under growing load ("the inflection point"), without its
// absolute figures of latency; the alerts of deploy/prometheus/rules apply it to longer times. It is not for what is slow from the start, since it
// compares a service with itself a minute before. A Detector starts no goroutines.
package inflection

import (
	"fmt"
	"math"
	"time"
)

// The rule: what is now, compared with what was normal.
const (
	rateAtMost    = 0.6   // of the normal rate
	p99AtLeast    = 3.0   // times the normal P99
	pausesAtLeast = 1.5   // times the normal pauses
	leastPauses   = 0.001 // s per second: shorter ones explain nothing
)

const (
	now    = 3  // latest readings that are compared with those before
	normal = 20 // readings before them
	enough = 10 // of these must have requests
	// leastRate is the rate before and after, in requests per second: with fewer, a P99 is that of a handful
	// of requests, and clients that leave are no inflection.
	leastRate = 10
)

// Reading is what a service did in a few seconds.
type Reading struct {
	Rate   float64 // requests answered per second
	P99    float64 // of their durations, s; NaN: there were none
	Pauses float64 // time that the garbage collector stopped the service, seconds per second
}

// Inflection is a service before and while it tips over.
type Inflection struct{ Before, Now Reading }

// String describes it.
func (i Inflection) String() string {
	return fmt.Sprintf("%.0f requests/s fell to %.0f/s, their p99 rose from %v to %v, and garbage collection paused it for %v of each second, before for %v",
		i.Before.Rate, i.Now.Rate, seconds(i.Before.P99), seconds(i.Now.P99), seconds(i.Now.Pauses), seconds(i.Before.Pauses))
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond)
}

// Detector applies the rule to a service's readings, which are evenly spaced. The zero Detector is
// ready. It is not safe for concurrent use.
type Detector struct{ readings []Reading }

// Add takes the next reading. It returns true if the latest readings, compared with those before
// them, are an inflection.
func (d *Detector) Add(r Reading) (found Inflection, yes bool) {
	if len(d.readings) == now+normal {
		copy(d.readings, d.readings[1:])
		d.readings = d.readings[:now+normal-1]
	}
	d.readings = append(d.readings, r)
	split := len(d.readings) - now
	if split < enough {
		return found, false
	}
	before, busy := mean(d.readings[:split])
	after, answering := mean(d.readings[split:])
	if busy < enough || answering == 0 || min(before.Rate, after.Rate) < leastRate {
		return found, false
	}
	longer := after.Pauses >= max(leastPauses, pausesAtLeast*before.Pauses)
	return Inflection{before, after}, after.Rate <= rateAtMost*before.Rate && after.P99 >= p99AtLeast*before.P99 && longer
}

// mean returns the mean of readings, and how many of them have a P99: that of the others is not
// known.
func mean(all []Reading) (m Reading, busy int) {
	for _, r := range all {
		m.Rate += r.Rate / float64(len(all))
		m.Pauses += r.Pauses / float64(len(all))
		if !math.IsNaN(r.P99) {
			m.P99 += r.P99
			busy++
		}
	}
	m.P99 /= float64(busy)
	return m, busy
}

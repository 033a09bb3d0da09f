package servers

import (
	"math"
	"time"
)

const (
	// margin is the share of wMax at which the rate stays; steady replaces it for a budget that is an
	// average over half a minute.
	margin, steady = 0.96, 0.98
	// beta is the share of wMax that remains after a refusal, until the rate has recovered within
	// recovery.
	beta     = 0.7
	recovery = 2 * time.Second
	// fastConvergence lowers wMax after a refusal although the rate stayed below it; sharedConvergence
	// does when the budget was exceeded for a while although it did: another client uses the same
	// budget.
	fastConvergence, sharedConvergence = 0.97, 0.9
	// sameMax is the ratio of two wMax above which they count as equal.
	sameMax = 0.9
	// slowStartGain: while wMax is unknown, each successful unit raises the rate by this many units a
	// second. So the rate doubles in ln 2/8 = 87 ms as long as all of it is used. With 60 ms until a
	// refusal arrives, some 10 requests exceed what the strictest servers allow, once.
	slowStartGain = 8.0
	// A probe above wMax starts with this share of it a second, and doubles every probeDoubling
	// seconds: slowly enough that the budget is noticed about 3% above it. Below probeCalls calls a
	// second, it is slower.
	probeGain     = 0.005
	probeDoubling = 6.0
	probeCalls    = 20.0
	// averageProbe slows a probe where the server's count decays over half a minute: it notices an
	// excess that much later.
	averageProbe = 0.25
	// maxProbe is the multiple of wMax from which a probe drops wMax.
	maxProbe = 1.25
	// The first probe above a new wMax comes after this time and number of calls of Good. Probes are
	// rare once wMax was confirmed.
	firstProbe, firstProbeGood = 5 * time.Second, 64
	// probeInterval is the minimum time between two probes then; after maxProbeInterval a probe comes
	// even after few calls.
	probeInterval, maxProbeInterval = 5 * time.Minute, 10 * time.Minute
	// burst is the time whose units may be sent together, to make up for timers that fire late.
	burst = 10 * time.Millisecond
	// busyShare is the share of the rate that must be used before it rises, and probeShare before it
	// rises above wMax: an unused rate proves nothing.
	busyShare, probeShare = 0.5, 0.85
	// A probe whose rate is not used ends after this time.
	probeTimeout = time.Minute
)

// rateConfig limits a rate. All rates are in units per second.
type rateConfig struct {
	Start   float64 // 0 means Floor
	Floor   float64 // 0 means a thousandth of a unit
	Ceiling float64 // 0 means none
	// ProbeAfter is the minimum number of calls of Good between two refusals at a confirmed wMax, so
	// the share of refusals is hardly above its inverse. 0 means 4000.
	ProbeAfter int
}

// rate is an adaptive rate limiter for a budget that a remote server has set and does not
// announce, in requests or bytes per second: additive increase while calls succeed,
// multiplicative decrease when the server refuses, between a floor and a ceiling.
//
// Like TCP CUBIC, it remembers the rate at which it was last refused (wMax, CUBIC's W_max), returns
// to just below it, stays there, and probes above it ever more rarely as long as it is refused at
// the same rate. That keeps the rate close to the budget with nearly no refusals. wMax is taken
// from the units that succeeded in the second before, not from the permitted rate: while the rate
// doubles every tenth of a second, the permitted rate is far above the budget.
//
// Requests are paced evenly with almost no burst, because servers count in windows of one second
// whose start is unknown.
//
// It does not limit concurrency (services/chain/limiter does), and is not for a known rate
// (golang.org/x/time/rate). It has no clock: the caller passes the time, which must not go back. It
// starts no goroutines and takes no locks: one caller at a time.
type rate struct {
	config rateConfig
	limit  float64   // units per second at the time at
	at     time.Time // of the last change of limit
	next   time.Time // when the next unit is due

	wMax    float64   // rate of the last refusal; 0 means unknown
	average bool      // the budget is an average over half a minute, and its size is reliable
	probing time.Time // start of the probe above wMax; zero means none
	need    int       // calls of Good until the next probe
	since   time.Time // of the last refusal, or of the end of the last probe
	good    int       // calls since then
	unit    float64   // average units per call of Good
	used    meter
}

// newRate returns a rate at its start value.
func newRate(c rateConfig) *rate {
	if c.Floor <= 0 {
		c.Floor = 0.001
	}
	if c.Ceiling <= 0 {
		c.Ceiling = math.Inf(1)
	}
	if c.ProbeAfter <= 0 {
		c.ProbeAfter = 4000
	}
	r := &rate{config: c, need: firstProbeGood}
	r.limit = r.bounded(max(c.Start, c.Floor))
	return r
}

func (r *rate) bounded(limit float64) float64 {
	return min(max(limit, r.config.Floor), r.config.Ceiling)
}

// Limit returns the rate permitted now, in units per second.
func (r *rate) Limit(now time.Time) float64 {
	r.update(now)
	return r.limit
}

// LastMax returns the rate of the last refusal, in units per second; 0 if there was none.
func (r *rate) LastMax() float64 { return r.wMax }

// Used returns the units that succeeded within the last second.
func (r *rate) Used(now time.Time) float64 { return r.used.lastSecond(now) }

// Average returns the successful units per second, averaged with a decay time of 32 s from a start
// at zero: rippled keeps its balance of a client in this way.
func (r *rate) Average(now time.Time) float64 { return r.used.average(now) }

// Wait returns the time until a unit may be sent; zero means now.
func (r *rate) Wait(now time.Time) time.Duration { return max(r.next.Add(-burst).Sub(now), 0) }

// Take records that units are sent, or (below zero) that units taken earlier were not sent.
func (r *rate) Take(now time.Time, units float64) {
	r.update(now)
	if units > 0 && r.next.Before(now) {
		r.next = now
	}
	d := units / r.limit * float64(time.Second)
	r.next = r.next.Add(time.Duration(min(max(d, -float64(time.Hour)), float64(time.Hour))))
}

// Good records that units succeeded.
func (r *rate) Good(now time.Time, units float64) {
	r.update(now)
	r.used.add(now, units)
	r.good++
	if r.unit == 0 {
		r.unit = units
	}
	r.unit += (units - r.unit) / 16
	if r.wMax == 0 && r.busy(now) {
		r.limit = r.bounded(r.limit + slowStartGain*units)
	}
}

// Near records that the budget is nearly used up, or slightly exceeded, without a refusal: the rate
// stays.
func (r *rate) Near(now time.Time) {
	r.update(now)
	if r.wMax == 0 {
		r.setMax(now, min(max(r.Used(now), r.limit/8), r.limit)/margin)
	} else if !r.probing.IsZero() {
		r.hold(now)
	}
}

// hold ends a probe and postpones the next one.
func (r *rate) hold(now time.Time) { r.probing, r.since, r.good = time.Time{}, now, 0 }

// Over records that the server refused a call because the budget was exceeded.
func (r *rate) Over(now time.Time) {
	r.update(now)
	went := r.Used(now)
	switch {
	case r.wMax == 0:
		// If no unit succeeded, there is no better guess than far below.
		r.setMax(now, min(max(went, r.limit/8), r.limit))
	case !r.probing.IsZero():
		// The successful units are a count, and may lack the last responses: it is precise only where it
		// is large. Up to wMax, all calls succeeded until now.
		r.setMax(now, min(max(went+2*r.unit, r.wMax), r.limit))
	case now.Sub(r.since) < time.Second:
		return // it was in progress at the first refusal
	case went+r.unit < sameMax*r.wMax:
		r.setMax(now, max(went+r.unit, r.wMax/2))
	default:
		r.setMax(now, fastConvergence*r.wMax)
	}
	r.limit = r.bounded(beta * r.wMax)
}

// Exceeded records that the budget was exceeded for a while, its size, whether the size is
// reliable, and for how long no unit may be sent to make up for it.
func (r *rate) Exceeded(now time.Time, budget float64, well bool, rest time.Duration) {
	r.update(now)
	if r.wMax > 0 && r.limit <= r.wMax {
		budget = min(budget, sharedConvergence*r.wMax)
	}
	r.setMax(now, budget)
	if r.average = well; !well {
		r.need = firstProbeGood
	}
	r.limit = r.bounded(beta * r.wMax)
	r.Rest(now, rest)
}

// Rest stops sending for a duration. The time until the next probe counts from its end.
func (r *rate) Rest(now time.Time, d time.Duration) {
	r.update(now)
	until := now.Add(d)
	if until.After(r.next) {
		r.next = until
	}
	r.hold(until)
}

// setMax stores wMax. One near the last wMax makes the next probe rarer.
func (r *rate) setMax(now time.Time, rate float64) {
	rate = r.bounded(rate)
	if r.wMax > 0 && rate > r.wMax*sameMax && rate < r.wMax/sameMax {
		r.need = min(max(2*r.need, r.config.ProbeAfter), 4*r.config.ProbeAfter)
	} else {
		r.need, r.average = firstProbeGood, false
	}
	r.wMax = rate
	r.hold(now)
}

// busy reports whether the permitted rate is used.
func (r *rate) busy(now time.Time) bool {
	return r.next.After(now.Add(-burst)) || r.Used(now) >= busyShare*r.limit
}

// update changes the limit with the passage of time.
func (r *rate) update(now time.Time) {
	passed := now.Sub(r.at).Seconds()
	if r.at.IsZero() {
		passed, r.since = 0, now
	}
	if passed < 0 {
		return
	}
	r.at = now
	plateau := r.plateau()
	switch {
	case r.wMax == 0:
	case !r.probing.IsZero():
		r.probe(now, passed)
	case r.limit < plateau:
		r.limit = min(plateau, r.limit+(1-beta)*r.wMax*passed/recovery.Seconds())
	case r.busy(now) && r.probeDue(now.Sub(r.since)):
		r.probing = now
	}
}

// plateau returns the rate at which the limit stays while wMax is known.
func (r *rate) plateau() float64 {
	if r.average {
		return r.bounded(steady * r.wMax)
	}
	return r.bounded(margin * r.wMax)
}

// probeDue reports whether it is time for a probe above wMax.
func (r *rate) probeDue(since time.Duration) bool {
	wait := firstProbe
	if r.need > firstProbeGood {
		wait = probeInterval
	}
	return since >= wait && r.good >= r.need || since >= maxProbeInterval
}

// probe raises the limit above wMax, faster the longer no call is refused.
func (r *rate) probe(now time.Time, passed float64) {
	sparse := r.limit < 2*r.unit // then the count of the last second is imprecise
	if r.Used(now) < probeShare*r.limit && !(sparse && r.busy(now)) {
		if now.Sub(r.probing) > probeTimeout {
			r.hold(now)
			r.limit = min(r.limit, r.plateau())
		}
		return
	}
	pace := 1.0
	if r.unit > 0 {
		pace = min(1, r.limit/r.unit/probeCalls)
	}
	if r.average {
		pace *= averageProbe
	}
	speed := pace * probeGain * math.Exp2(pace*now.Sub(r.probing).Seconds()/probeDoubling)
	r.limit = r.bounded(r.limit + r.wMax*min(speed*passed, 0.1))
	if r.limit > maxProbe*r.wMax || r.limit >= r.config.Ceiling {
		r.wMax, r.average, r.probing, r.need = 0, false, time.Time{}, firstProbeGood
	}
}

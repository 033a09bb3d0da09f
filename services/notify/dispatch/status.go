package dispatch

import (
	"time"

	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// Status is how a subscription and its receiver are at a moment.
type Status struct {
	Definition  subscription.Definition
	Counts      subscription.Counts
	State       string // ok, throttled, failing, disabled
	Pending     int
	Backlog     int64 // of these: in the log only
	InFlight    int   // webhooks
	Limit       int   // webhooks that may be in flight at present
	Oldest      int64 // when the oldest notice in memory was accepted, unix time in ns; 0 means none
	Last        webhook.Outcome
	Retrying    int       // keys whose first notice failed and waits to be sent again
	Tried       int       // most attempts at one of these notices
	NextAttempt time.Time // when the first of them, or what is held back, is sent again; zero means none
}

func (sub *subscriber) status() Status {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	g := &sub.limiter
	s := Status{
		Definition: sub.def, Counts: sub.counts, State: sub.state(), Pending: sub.pending(), Backlog: sub.backlog,
		InFlight: g.sending, Limit: g.limit, Oldest: sub.oldest(), Last: sub.last,
	}
	for _, l := range sub.lanes {
		if l.n == 0 || l.first.tries == 0 || l.state == laneRunning {
			continue
		}
		s.Retrying++
		s.Tried = max(s.Tried, l.first.tries)
		if l.state == laneParked && (s.NextAttempt.IsZero() || l.due.Before(s.NextAttempt)) {
			s.NextAttempt = l.due
		}
	}
	if g.paused && g.circuitOpen && s.Pending > 0 && g.until.After(s.NextAttempt) {
		s.NextAttempt = g.until // the pause holds back all lanes
	}
	return s
}

// state is the state's name. The lock is held.
func (sub *subscriber) state() string {
	switch {
	case sub.def.Disabled != "":
		return "disabled"
	case sub.limiter.failures >= breakerFailures:
		return "failing"
	case sub.limiter.circuitOpen:
		return "throttled"
	}
	return "ok"
}

// oldest is when the oldest notice in memory was accepted, unix time in ns; 0 means that there is
// none. The lock is held.
func (sub *subscriber) oldest() int64 {
	if sub.byAge.oldest == nil {
		return 0
	}
	return sub.byAge.oldest.notice.Accepted
}

// age is the age of the oldest notice in memory; 0 means that there is none.
func (sub *subscriber) age(now time.Time) time.Duration {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	accepted := sub.oldest()
	if accepted == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, accepted))
}

// definition reads the definition.
func (sub *subscriber) definition() subscription.Definition {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.def
}

package dispatch

import (
	"sync"
	"time"

	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

const (
	// MaxConcurrency bounds the webhooks in flight to one receiver.
	MaxConcurrency = 4096
	// DefaultConcurrency is the bound for a subscription that does not set its own.
	DefaultConcurrency = 32
)

// Receiver is one subscription as far as delivery knows it.
type Receiver struct {
	ID     string
	outlet *outlet

	Mu      sync.Mutex // guards the fields below
	Def     subscription.Definition
	Counts  subscription.Counts
	Backlog int64 // notices that are in the log only, which the Reader counts
	Gone    bool  // the subscription was deleted

	target  *webhook.Target
	lanes   map[string]*lane
	byAge   byAge
	n       int   // notices in the lanes
	bytes   int64 // of these
	limiter receiverLimiter
	last    webhook.Outcome // of the last attempt
}

// Init makes a receiver of a definition that was checked.
func (d *Deliverer) Init(r *Receiver, def subscription.Definition) error {
	r.ID, r.outlet, r.lanes = def.ID, &d.outlet, map[string]*lane{}
	r.limiter.init(&d.outlet, &r.Mu)
	return d.Define(r, def)
}

// Define gives a receiver its definition. The caller holds its mutex, or has it alone.
func (d *Deliverer) Define(r *Receiver, def subscription.Definition) error {
	target, err := webhook.NewTarget(def.URL, def.Secrets)
	if err != nil {
		return err
	}
	r.Def, r.target = def, target
	r.limiter.configure(def, d.pack.inflight(def))
	return nil
}

// SetInitialLimit sets how many webhooks may be in flight to a new receiver: firstLimit, or less
// when there are so few workers for the subscriptions that, if one receiver in a hundred hangs,
// these could have more than half of the workers: until other workers take their places, no other
// receiver would get anything.
func (d *Deliverer) SetInitialLimit(r *Receiver, subscriptions int) {
	hang := max(1, subscriptions/100)
	r.limiter.limit = min(r.limiter.most, max(1, min(firstLimit, d.options.Workers/2/hang)))
}

// Retry ends all pauses: a change of the subscription may have fixed the receiver. Its mutex is
// held.
func (r *Receiver) Retry() {
	r.limiter.failures = 0
	r.limiter.resume()
}

// Remove forgets all that a subscription has not got. It is not owed any more.
// Its mutex is held.
func (d *Deliverer) Remove(r *Receiver) {
	d.DecPending(int64(r.Pending()))
	d.Loaded.Add(-r.bytes)
	r.Gone = true
	r.outlet.wheel.Stop(&r.limiter.timer)
	for _, l := range r.lanes {
		r.forget(l)
	}
}

// Pending counts what it has not got, in the lanes and in the log. Its mutex is held.
func (r *Receiver) Pending() int {
	n := int(r.Backlog)
	for _, l := range r.lanes {
		n += l.n
	}
	return n
}

// Loaded counts the notices in memory, and their bytes. Its mutex is held.
func (r *Receiver) Loaded() (notices int, bytes int64) { return r.n, r.bytes }

// Out is how many lanes are with the workers or on their way to them. Its mutex is held.
func (r *Receiver) Out() int { return r.limiter.out }

// Oldest is when the oldest notice in memory was accepted, unix time in ns; false means that there
// is none. Its mutex is held.
func (r *Receiver) Oldest() (accepted int64, ok bool) {
	if r.byAge.oldest == nil {
		return 0, false
	}
	return r.byAge.oldest.notice.Accepted, true
}

// Waiting lists the notices in memory but for replayed dead letters, the oldest first. Its mutex is
// held.
func (r *Receiver) Waiting() (out []subscription.Waiting) {
	for it := r.byAge.oldest; it != nil; it = it.newer {
		if it.replayed {
			continue
		}
		w := subscription.Waiting{Seq: it.notice.Seq, Tries: it.tries}
		if it.sending {
			w.Tries-- // only failed ones count
		}
		if l := r.lanes[it.notice.Key]; l != nil && l.first == it && l.state == laneParked {
			w.Next = l.due
		}
		out = append(out, w)
	}
	return out
}

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

// Status reads how a receiver is.
func (r *Receiver) Status() Status {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	g := &r.limiter
	s := Status{
		Definition: r.Def, Counts: r.Counts, State: r.state(), Pending: r.Pending(), Backlog: r.Backlog,
		InFlight: g.sending, Limit: g.limit, Last: r.last,
	}
	s.Oldest, _ = r.Oldest()
	for _, l := range r.lanes {
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

func (r *Receiver) state() string {
	switch {
	case r.Def.Disabled != "":
		return "disabled"
	case r.limiter.failures >= breakerFailures:
		return "failing"
	case r.limiter.circuitOpen:
		return "throttled"
	}
	return "ok"
}

package servers

import (
	"math"
	"time"
)

const (
	// warnedFor is how long a server must warn before that means more than the end of a window.
	warnedFor = 2 * time.Second
	// A rippled warns at most once a second, however many requests it answers: an answer without a
	// warning means nothing within warnEvery of one with it.
	warnEvery = 1500 * time.Millisecond
	// aboveClio times Clio's limits: a server that answers that much is not a Clio.
	aboveClio = 3.0
	// A rippled's balance decays with a time constant of decays. A warning costs as much as
	// warningCosts cheap requests, so a client that is warned once a second must rest until the
	// balance is below the threshold. restMost bounds the rest, so that it ends before a download
	// stops for want of answers. restFirst is the rest when the distance to the threshold is not
	// known.
	decays, warningCosts, restFirst, restMost = 32 * time.Second, 200.0, 4 * time.Second, 15 * time.Second
	// allowedByRippled is what a rippled allows that charges the least for a request: a lower limit
	// is caused by other clients.
	allowedByRippled = 250.0 // requests/s
	// rested is the share of the threshold at which the rest ends.
	rested = 0.95
)

// warnings is what a server's answers say about its limit before it refuses any.
type warnings struct {
	last      time.Time // time of the last warning
	since     time.Time // start of continuous warnings (all answers, or one a second); zero: none
	times     int       // warnings since then
	budget    float64   // requests/s at which the limit was reached then; 0: other clients reached it
	costs     float64   // requests/s that warnings had added at the last rest
	at        time.Time // start of the last rest
	otherLoad time.Time // last time that other clients' load reached the limit
	rest      time.Duration
	restUntil time.Time // end of rest
}

func (s *server) unwarned(now time.Time) {
	if now.Sub(s.warned.last) > warnEvery || s.nearClioLimit(now) {
		s.warned.since = time.Time{}
	}
}

// nearClioLimit says whether the rate is near a Clio's limit: a Clio warns at a window's end.
func (s *server) nearClioLimit(now time.Time) bool {
	share := max(s.requests.Used(now)/allowedRequests, s.bytes.Used(now)/allowedBytes)
	return share >= safeShare && share < aboveClio
}

// warning records an answer with a load warning. If the server may be a Clio, part of a window's
// bytes or requests are used up: the rates stay. If warnings continue, a decaying balance is above
// a threshold, as rippled's. A client that goes on would be warned forever, because warnings weigh
// more than requests, so the server rests until the balance has decayed. If this process sent many
// requests, the threshold is their average over the balance's time constant when the warnings
// began; if it sent few, the balance comes from other clients or an earlier run.
func (s *server) warning(now time.Time) {
	w := &s.warned
	idle := now.Sub(w.last) > restMost
	w.last = now
	w.times++
	clio := s.nearClioLimit(now)
	switch {
	case now.Before(w.restUntil): // the request was sent before the rest
	case w.since.IsZero() || idle:
		w.since, w.times, w.budget = now, 1, 0
		switch {
		case clio:
			for _, r := range s.limitingBudgets(now) {
				r.Near(now)
			}
		case s.requests.Used(now) >= aboveClio*allowedRequests:
			// The part that other clients, or an earlier run, had used up then has decayed since.
			w.budget = s.balance(now) / (1 - math.Exp(-now.Sub(w.otherLoad).Seconds()/decays.Seconds()))
			s.requests.Near(now)
		}
	case clio || now.Sub(w.since) < warnedFor:
	default:
		s.rest(now)
	}
}

// rest pauses requests to a rippled until its balance has decayed.
func (s *server) rest(now time.Time) {
	w := &s.warned
	times := min(w.times, 1+int(now.Sub(w.since)/time.Second)) // a rippled sends one a second at most
	balance := s.balance(now) + float64(times)*warningCosts/decays.Seconds()
	rest := restFirst
	if w.budget > 0 {
		rest = time.Duration(max(math.Log(balance/(rested*w.budget)), 0) * float64(decays))
	}
	if within := w.budget == 0 || s.requests.Limit(now) <= s.requests.LastMax(); within && now.Sub(w.restUntil) < decays {
		rest = max(rest, 2*w.rest) // the last was too short: other clients send, too
	}
	w.rest = min(rest, restMost)
	if w.budget > 0 {
		well := w.budget > safeShare*allowedByRippled && now.Sub(w.otherLoad) > 2*decays
		s.requests.Exceeded(now, w.budget, well, w.rest)
	} else {
		w.otherLoad = now
		s.requests.Rest(now, w.rest)
	}
	w.costs, w.at = balance-s.requests.Average(now), now
	w.since, w.restUntil = time.Time{}, now.Add(w.rest)
}

// balance is the known part of the balance that a rippled keeps for its client, in requests/s.
func (s *server) balance(now time.Time) float64 {
	return s.requests.Average(now) + s.warned.costs*math.Exp(-now.Sub(s.warned.at).Seconds()/decays.Seconds())
}

package pace

import (
	"math"
	"time"
)

const (
	// warnedFor is how long a server warns until that is taken for more than the end of a window.
	warnedFor = 2 * time.Second
	// A rippled warns once a second, however many it answers: an answer without a warning says nothing within onceIn of
	// one with it.
	onceIn = 1500 * time.Millisecond
	// aboveClio is how many times what a Clio allows shows that it is none.
	aboveClio = 3.0
	// A rippled's balance decays with a time constant of decays. A warning costs as much as so many requests of the
	// cheap kind, so that who is warned once a second has to rest until the balance is below the threshold: at the
	// most for restMost, before which nobody gives up. restFirst is for when it is not known how far above it is.
	decays, warningCosts, restFirst, restMost = 32 * time.Second, 200.0, 4 * time.Second, 15 * time.Second
	// allowedByRippled is what a rippled allows that charges the least for a request: less is the doing of others.
	allowedByRippled = 250.0 // requests/s
	// rested is the share of the threshold at which the rest ends.
	rested = 0.95
)

// warnings is what a server's answers say of its limit before it refuses anything.
type warnings struct {
	last    time.Time // when an answer was
	since   time.Time // since when all were, or one a second; zero: they are not
	times   int       // since then
	budget  float64   // requests/s by which the limit was reached, when that began; 0: it was not by our own
	costs   float64   // requests/s that warnings had come to at the last rest, which began at
	at      time.Time
	foreign time.Time // when the limit was reached last, not by our own
	rest    time.Duration
	resting time.Time // its end
}

// unwarned takes note of an answer without a warning.
func (s *server) unwarned(now time.Time) {
	if now.Sub(s.warned.last) > onceIn || s.likeClio(now) {
		s.warned.since = time.Time{}
	}
}

// likeClio says whether about as much is asked of a server as a Clio allows: it warns at the end of a window.
func (s *server) likeClio(now time.Time) bool {
	share := max(s.requests.Used(now)/allowedRequests, s.bytes.Used(now)/allowedBytes)
	return share >= leftAlone && share < aboveClio
}

// warning hears what a server says of its limit. Where it may be a Clio, some bytes or requests of a window are used up:
// the rates stay. Where it goes on for a while, a decayed balance is beyond a threshold, as rippled's. Who goes on is
// warned for ever, since warnings weigh more than requests, so nobody is asked until the balance has decayed. Where
// much was asked, the threshold is what the average over the balance's time was when that began; where little was, the
// balance is not ours: somebody else asks, or a run before did.
func (s *server) warning(now time.Time) {
	w := &s.warned
	idle := now.Sub(w.last) > restMost
	w.last = now
	w.times++
	clio := s.likeClio(now)
	switch {
	case now.Before(w.resting): // it was under way
	case w.since.IsZero() || idle:
		w.since, w.times, w.budget = now, 1, 0
		switch {
		case clio:
			for _, r := range s.suspects(now) {
				r.Near(now)
			}
		case s.requests.Used(now) >= aboveClio*allowedRequests:
			// What others, or a run before, had used up when that was noticed has decayed since.
			w.budget = s.balance(now) / (1 - math.Exp(-now.Sub(w.foreign).Seconds()/decays.Seconds()))
			s.requests.Near(now)
		}
	case clio || now.Sub(w.since) < warnedFor:
	default:
		s.rest(now)
	}
}

// rest leaves a rippled alone until its balance has decayed.
func (s *server) rest(now time.Time) {
	w := &s.warned
	times := min(w.times, 1+int(now.Sub(w.since)/time.Second)) // a rippled's, at most
	balance := s.balance(now) + float64(times)*warningCosts/decays.Seconds()
	rest := restFirst
	if w.budget > 0 {
		rest = time.Duration(max(math.Log(balance/(rested*w.budget)), 0) * float64(decays))
	}
	if within := w.budget == 0 || s.requests.Limit(now) <= s.requests.LastMax(); within && now.Sub(w.resting) < decays {
		rest = max(rest, 2*w.rest) // the last was too short: others ask, too
	}
	w.rest = min(rest, restMost)
	if w.budget > 0 {
		well := w.budget > leftAlone*allowedByRippled && now.Sub(w.foreign) > 2*decays
		s.requests.Exceeded(now, w.budget, well, w.rest)
	} else {
		w.foreign = now
		s.requests.Rest(now, w.rest)
	}
	w.costs, w.at = balance-s.requests.Average(now), now
	w.since, w.resting = time.Time{}, now.Add(w.rest)
}

// balance is what a rippled holds against its client, as far as it is known, in requests/s.
func (s *server) balance(now time.Time) float64 {
	return s.requests.Average(now) + s.warned.costs*math.Exp(-now.Sub(s.warned.at).Seconds()/decays.Seconds())
}

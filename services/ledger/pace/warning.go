package pace

import (
	"math"
	"time"

	"dyno/parts/aimd"
)

const (
	// warnedFor is how long every answer is warned until that is taken for more than the end of a window.
	warnedFor = 2 * time.Second
	// A rippled warns once a second, however many it answers: where more come than any Clio allows, an answer without
	// a warning says nothing within onceIn of one with it.
	often, onceIn = 2 * allowedRequests, 1500 * time.Millisecond
	// A rippled's balance decays with a time constant of decays. A warning costs as much as so many requests of the
	// cheap kind, so that who is warned once a second has to rest until the balance is below the threshold: at the
	// most for so long, within which somebody else would be asked.
	decays, warningCosts, restMost = 32 * time.Second, 200.0, 15 * time.Second
	// rested is the share of the threshold at which the rest ends: as much as the rate settles at.
	rested = 0.96
)

// warnings is what a server's answers say of its limit before it refuses anything.
type warnings struct {
	last    time.Time // when an answer was
	since   time.Time // since when every answer was, or one a second; zero: they are not
	times   int       // since then
	balance float64   // requests/s when that began, and what warnings cost
	costs   float64   // requests/s that warnings came to when nobody was to ask any more, which was at
	at      time.Time
	rest    time.Duration
	resting time.Time // until when nobody was to
}

// unwarned takes note of an answer without a warning.
func (s *server) unwarned(now time.Time) {
	if now.Sub(s.warned.last) > onceIn || s.requests.Used(now) < often {
		s.warned.since = time.Time{}
	}
}

// warning hears what a server says of its limit. One answer in a while is warned at the end of a window, as by Clio
// when its bytes are used up: then the rates stay. When all are, or one in every second, for a while, a decayed balance is
// beyond a threshold, as rippled's: then that was what the average over its time was when it began. Who goes on is
// warned for ever, since warnings weigh more than requests, so nobody is asked until the balance has decayed.
func (s *server) warning(now time.Time) {
	w := &s.warned
	w.last = now
	w.times++
	switch {
	case now.Before(w.resting): // it was under way
	case w.since.IsZero():
		w.since, w.times, w.balance = now, 1, s.balance(now)
		suspects := s.suspects(now)
		if s.requests.Used(now) >= often { // no Clio, which counts bytes, allows so many
			suspects = []*aimd.Rate{s.requests}
		}
		for _, r := range suspects {
			r.Near(now)
		}
	case now.Sub(w.since) >= warnedFor && w.balance > 0:
		times := min(w.times, 1+int(now.Sub(w.since)/time.Second)) // a rippled's, at most
		balance := s.balance(now) + float64(times)*warningCosts/decays.Seconds()
		rest := time.Duration(max(math.Log(balance/(rested*w.balance)), 0) * float64(decays))
		if now.Sub(w.resting) < decays { // the last rest was too short: others use the same balance
			rest = max(rest, 2*w.rest)
		}
		w.rest = min(rest, restMost)
		s.requests.Exceeded(now, w.balance, w.rest)
		w.costs, w.at = balance-s.requests.Average(now), now
		w.since, w.resting = time.Time{}, now.Add(w.rest)
	}
}

// balance is what a rippled holds against its client, as far as it is known, in requests/s.
func (s *server) balance(now time.Time) float64 {
	return s.requests.Average(now) + s.warned.costs*math.Exp(-now.Sub(s.warned.at).Seconds()/decays.Seconds())
}

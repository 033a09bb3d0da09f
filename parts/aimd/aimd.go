// Package aimd is a rate that adapts: additive increase while all goes well, multiplicative decrease when a server says
// that it is too much, between a floor and a ceiling. It is for budgets that somebody else has set and does not tell:
// so many requests, or bytes, a second.
//
// As TCP CUBIC does, it remembers where it met the budget (the edge), comes back to just below that, stays there, and
// looks beyond ever more rarely as long as it meets the edge where it was. That is what keeps the rate close to the
// budget and yet leaves nearly all requests unrefused. Where the budget is met is learned from what went well in the
// second before, not from the rate that was permitted: when the rate doubles every tenth of a second, that is far beyond.
//
// What is permitted is spaced out evenly, with hardly any burst: servers count in windows of a second, which begin
// nobody knows when.
//
// It does not bound how much is under way (parts/limiter does), and is not for a rate that one knows
// (golang.org/x/time/rate). It has no clock: the caller says what time it is, and times do not go back. It starts no
// goroutines, and takes no locks: one caller at a time.
package aimd

import (
	"math"
	"time"
)

const (
	// margin is how far below the edge the rate stays, and steady where the budget is an average over half a minute.
	margin, steady = 0.96, 0.98
	// cut is what a refusal leaves of the rate until it has recovered, within recovery.
	cut      = 0.7
	recovery = 2 * time.Second
	// lower is what is left of an edge that was met although the rate stayed below it, and shared of one that was
	// exceeded for a while although it did: others use the same budget.
	lower, shared = 0.97, 0.9
	// same is how close an edge must be to that before to be the same.
	same = 0.9
	// haste: each unit that goes well permits so much more a second while no edge is known. So the rate doubles in
	// ln 2/8 = 87 ms as long as all of it is used. Until a refusal is heard, 60 ms away, some 10 requests go beyond what
	// the stingiest servers allow, once.
	haste = 8.0
	// A look beyond the edge begins with this much of it a second, and twice as much each so many seconds: slowly
	// enough that a budget is noticed some 3% beyond it. Where a second has fewer calls than brisk, it is slower.
	rise      = 0.005
	riseTwice = 6.0
	brisk     = 20.0
	// lagging is how much slower a look is where what is counted decays over half a minute: it is as much later noticed.
	lagging = 0.25
	// beyond is how far a look goes before the edge is taken for gone.
	beyond = 1.25
	// The first look at an edge comes soon: after so long, and so many calls of Good. It is rare once the edge was met
	// again where it was.
	soon, soonGood = 5 * time.Second, 64
	// rarely is how long there is then between two looks at least, and forgotten when one comes though little has gone on.
	rarely, forgotten = 5 * time.Minute, 10 * time.Minute
	// burst is how much time's worth may come at once, to make up for timers that fire late.
	burst = 10 * time.Millisecond
	// busy is how much of the rate must be used before it rises, and tried before it rises beyond an edge: what is not
	// tried is not shown.
	busy, tried = 0.5, 0.85
	// A look that is not tried ends after so long.
	longLook = time.Minute
)

// Config bounds a rate. All are in units a second.
type Config struct {
	Start   float64 // 0: Floor
	Floor   float64 // 0: a thousandth of a unit
	Ceiling float64 // 0: none
	// Rare is how many calls of Good there are between two meetings with an edge that is known, at least: the share of
	// refusals is then hardly above its inverse. 0: 4000.
	Rare int
}

// Rate is a rate. It is made by New.
type Rate struct {
	config Config
	limit  float64   // units a second, as of at
	at     time.Time // of the last call that moved limit
	next   time.Time // when the next unit is due

	edge    float64   // where the budget was met; 0: not yet
	average bool      // it is one, over half a minute, and known well
	looking time.Time // since when beyond the edge; zero: not
	need    int       // calls of Good until the next look
	since   time.Time // of the last meeting with the edge, or of the end of the last look
	good    int       // calls since then
	unit    float64   // units of a call of Good, on average
	used    meter
}

// New makes a rate.
func New(c Config) *Rate {
	if c.Floor <= 0 {
		c.Floor = 0.001
	}
	if c.Ceiling <= 0 {
		c.Ceiling = math.Inf(1)
	}
	if c.Rare <= 0 {
		c.Rare = 4000
	}
	r := &Rate{config: c, need: soonGood}
	r.limit = r.bounded(max(c.Start, c.Floor))
	return r
}

func (r *Rate) bounded(limit float64) float64 {
	return min(max(limit, r.config.Floor), r.config.Ceiling)
}

// Limit is the rate that is permitted now, in units a second.
func (r *Rate) Limit(now time.Time) float64 {
	r.move(now)
	return r.limit
}

// Edge is where the budget was last met, in units a second; 0 where it was not.
func (r *Rate) Edge() float64 { return r.edge }

// Used is how many units went well within the last second.
func (r *Rate) Used(now time.Time) float64 { return r.used.lastSecond(now) }

// Average is how many units a second went well, decayed with a time constant of 32 s, from nothing: as rippled keeps
// its balance of a client.
func (r *Rate) Average(now time.Time) float64 { return r.used.average(now) }

// Wait is how long it takes until a unit may go; 0: it may now.
func (r *Rate) Wait(now time.Time) time.Duration { return max(r.next.Add(-burst).Sub(now), 0) }

// Take says that so many units go, or (below zero) that so many that were taken did not.
func (r *Rate) Take(now time.Time, units float64) {
	r.move(now)
	if units > 0 && r.next.Before(now) {
		r.next = now
	}
	d := units / r.limit * float64(time.Second)
	r.next = r.next.Add(time.Duration(min(max(d, -float64(time.Hour)), float64(time.Hour))))
}

// Good says that so many units went well.
func (r *Rate) Good(now time.Time, units float64) {
	r.move(now)
	r.used.add(now, units)
	r.good++
	if r.unit == 0 {
		r.unit = units
	}
	r.unit += (units - r.unit) / 16
	if r.edge == 0 && r.busy(now) {
		r.limit = r.bounded(r.limit + haste*units)
	}
}

// Near says that the budget is nearly used up, or somewhat exceeded, and nothing was refused: the rate stays.
func (r *Rate) Near(now time.Time) {
	r.move(now)
	if r.edge == 0 {
		r.meet(now, min(max(r.Used(now), r.limit/8), r.limit)/margin)
	} else if !r.looking.IsZero() {
		r.stay(now)
	}
}

// stay puts off the next look beyond the edge, and ends one.
func (r *Rate) stay(now time.Time) { r.looking, r.since, r.good = time.Time{}, now, 0 }

// Over says that the budget was exceeded, and something refused.
func (r *Rate) Over(now time.Time) {
	r.move(now)
	went := r.Used(now)
	switch {
	case r.edge == 0:
		// Where nothing went well there is no better guess than far below.
		r.meet(now, min(max(went, r.limit/8), r.limit))
	case !r.looking.IsZero():
		// What went well is a count, and may lack the last answers: it is fine only where that is large. Up to the
		// edge, all went well until now.
		r.meet(now, min(max(went+2*r.unit, r.edge), r.limit))
	case now.Sub(r.since) < time.Second:
		return // it was under way when the first was refused
	case went+r.unit < same*r.edge:
		r.meet(now, max(went+r.unit, r.edge/2))
	default:
		r.meet(now, lower*r.edge)
	}
	r.limit = r.bounded(cut * r.edge)
}

// Exceeded says that the budget was exceeded for a while, what it is, whether that is known well, and how long nothing
// may go until it is made up for.
func (r *Rate) Exceeded(now time.Time, budget float64, well bool, rest time.Duration) {
	r.move(now)
	if r.edge > 0 && r.limit <= r.edge {
		budget = min(budget, shared*r.edge)
	}
	r.meet(now, budget)
	if r.average = well; !well {
		r.need = soonGood
	}
	r.limit = r.bounded(cut * r.edge)
	r.Rest(now, rest)
}

// Rest says that nothing may go for so long. What is due then, such as a look beyond the edge, counts from its end.
func (r *Rate) Rest(now time.Time, d time.Duration) {
	r.move(now)
	until := now.Add(d)
	if until.After(r.next) {
		r.next = until
	}
	r.stay(until)
}

// meet remembers an edge. One where it was before makes the next look rarer.
func (r *Rate) meet(now time.Time, edge float64) {
	edge = r.bounded(edge)
	if r.edge > 0 && edge > r.edge*same && edge < r.edge/same {
		r.need = min(max(2*r.need, r.config.Rare), 4*r.config.Rare)
	} else {
		r.need, r.average = soonGood, false
	}
	r.edge = edge
	r.stay(now)
}

// busy says whether what is permitted is used.
func (r *Rate) busy(now time.Time) bool {
	return r.next.After(now.Add(-burst)) || r.Used(now) >= busy*r.limit
}

// move lets the limit go where it goes with time.
func (r *Rate) move(now time.Time) {
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
	case r.edge == 0:
	case !r.looking.IsZero():
		r.look(now, passed)
	case r.limit < plateau:
		r.limit = min(plateau, r.limit+(1-cut)*r.edge*passed/recovery.Seconds())
	case r.busy(now) && r.due(now.Sub(r.since)):
		r.looking = now
	}
}

// plateau is where the rate stays while the edge is known.
func (r *Rate) plateau() float64 {
	if r.average {
		return r.bounded(steady * r.edge)
	}
	return r.bounded(margin * r.edge)
}

// due says whether it is time for a look beyond the edge.
func (r *Rate) due(since time.Duration) bool {
	wait := soon
	if r.need > soonGood {
		wait = rarely
	}
	return since >= wait && r.good >= r.need || since >= forgotten
}

// look raises the limit beyond the edge, the faster the longer nothing is refused.
func (r *Rate) look(now time.Time, passed float64) {
	sparse := r.limit < 2*r.unit // then what went within a second says little
	if r.Used(now) < tried*r.limit && !(sparse && r.busy(now)) {
		if now.Sub(r.looking) > longLook {
			r.stay(now)
			r.limit = min(r.limit, r.plateau())
		}
		return
	}
	pace := 1.0
	if r.unit > 0 {
		pace = min(1, r.limit/r.unit/brisk)
	}
	if r.average {
		pace *= lagging
	}
	speed := pace * rise * math.Exp2(pace*now.Sub(r.looking).Seconds()/riseTwice)
	r.limit = r.bounded(r.limit + r.edge*min(speed*passed, 0.1))
	if r.limit > beyond*r.edge || r.limit >= r.config.Ceiling {
		r.edge, r.average, r.looking, r.need = 0, false, time.Time{}, soonGood
	}
}

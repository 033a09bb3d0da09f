package servers

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// client uses all of a rate against a server with a budget per window of a second, and counts.
type client struct {
	*rate
	now       time.Time
	allowed   float64 // units in a window
	window    int64
	inWindow  float64
	good, bad int
}

// run sends units repeatedly for a duration.
func (c *client) run(d time.Duration, units float64) {
	for end := c.now.Add(d); c.now.Before(end); {
		if wait := c.Wait(c.now); wait > 0 {
			c.now = c.now.Add(wait)
			continue
		}
		c.Take(c.now, units)
		if w := c.now.Unix(); w != c.window {
			c.window, c.inWindow = w, 0
		}
		if c.inWindow += units; c.inWindow > c.allowed {
			c.bad++
			c.Over(c.now)
			c.now = c.now.Add(time.Second).Truncate(time.Second) // as the server asked
		} else {
			c.good++
			c.Good(c.now, units)
		}
	}
}

// The rate comes close to a budget for any size and unit, and then almost no call is refused.
func TestFindsABudget(t *testing.T) {
	for _, tt := range []struct{ allowed, units float64 }{{20, 1}, {100, 1}, {1000, 1}, {1e6, 10_000}, {20e6, 187_000}} {
		c := &client{rate: newRate(rateConfig{Start: tt.allowed / 3}), now: start, allowed: tt.allowed}
		c.run(2*time.Minute, tt.units)
		c.good, c.bad = 0, 0
		c.run(10*time.Minute, tt.units)
		used := float64(c.good) * tt.units / 600 / (tt.units * math.Floor(tt.allowed/tt.units))
		if slowed := float64(c.bad) / float64(c.good); used < 0.95 || slowed > 0.001 {
			t.Errorf("%v in units of %v: %.1f%% used, %.3f%% refused", tt.allowed, tt.units, 100*used, 100*slowed)
		}
	}
}

// The rate follows a budget that grows or shrinks.
func TestFollowsABudget(t *testing.T) {
	c := &client{rate: newRate(rateConfig{Start: 10}), now: start, allowed: 20}
	for _, allowed := range []float64{20, 200, 20} {
		c.allowed = allowed
		c.run(maxProbeInterval+2*time.Minute, 1)
		c.good, c.bad = 0, 0
		c.run(5*time.Minute, 1)
		if used := float64(c.good) / 300 / allowed; used < 0.9 || c.bad > c.good/300 {
			t.Errorf("of %v a second: %.1f%% used, %d of %d refused", allowed, 100*used, c.bad, c.good)
		}
	}
}

// Without a budget the rate delays calls only for a moment.
func TestNoBudget(t *testing.T) {
	c := &client{rate: newRate(rateConfig{Start: 16}), now: start, allowed: math.Inf(1)}
	c.run(time.Second, 1)
	if limit := c.Limit(c.now); limit < 2000 {
		t.Errorf("after a second it is %v", limit)
	}
}

// An unused rate does not rise: its success proves nothing.
func TestDoesNotRiseIdle(t *testing.T) {
	r, now := newRate(rateConfig{Start: 100}), start
	for range 1000 {
		now = now.Add(100 * time.Millisecond)
		r.Take(now, 1)
		r.Good(now.Add(20*time.Millisecond), 1)
	}
	if limit := r.Limit(now); limit != 100 {
		t.Errorf("it is %v", limit)
	}
}

// Refusals of calls that were in progress at the first refusal do not count again.
func TestOneCutPerCongestion(t *testing.T) {
	c := &client{rate: newRate(rateConfig{Start: 16}), now: start, allowed: math.Inf(1)}
	c.run(time.Second, 1)
	c.Over(c.now)
	last, limit := c.LastMax(), c.Limit(c.now)
	for range 50 {
		c.Over(c.now.Add(300 * time.Millisecond))
	}
	if c.LastMax() != last || limit >= last || c.Limit(c.now.Add(time.Minute)) >= last {
		t.Errorf("wMax %v, then %v; the rate was %v", last, c.LastMax(), limit)
	}
}

// A warning keeps the rate where it is; a budget that is known to be exceeded stops it for a while,
// and then it goes to just below.
func TestWarnings(t *testing.T) {
	c := &client{rate: newRate(rateConfig{Start: 64}), now: start, allowed: math.Inf(1)}
	c.run(500*time.Millisecond, 1)
	c.Near(c.now)
	limit := c.Limit(c.now)
	c.run(3*time.Second, 1)
	if after := c.Limit(c.now); after > limit || after < limit/2 {
		t.Errorf("%v after a warning, %v before", after, limit)
	}
	const rest = 8 * time.Second
	c.Exceeded(c.now, 50, true, rest)
	if wait := c.Wait(c.now); wait != rest-burst {
		t.Errorf("it waits for %v", wait)
	}
	c.run(rest+time.Second, 1)
	if l := c.Limit(c.now); l < 50*margin-0.01 || l > 50 {
		t.Errorf("it recovers to %v", l)
	}
	c.Exceeded(c.now, 60, true, 0)
	if last := c.LastMax(); last != 50*sharedConvergence {
		t.Errorf("exceeded below wMax: wMax is %v", last)
	}
}

// TestRateInvariants runs random calls at random times. The limit stays within its bounds and is
// never NaN; no more is permitted than the limit allows plus the burst; and no caller waits for
// ever.
func TestRateInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		floor := rapid.Float64Range(0.1, 5).Draw(t, "floor")
		ceiling := floor * rapid.Float64Range(1, 1000).Draw(t, "ceiling")
		r, now := newRate(rateConfig{Start: rapid.Float64Range(0, 2*ceiling).Draw(t, "start"), Floor: floor, Ceiling: ceiling}), start
		begin, taken := now, 0.0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "passed")))
			units := rapid.Float64Range(0, 10).Draw(t, "units")
			switch rapid.IntRange(0, 7).Draw(t, "do") {
			case 0:
				r.Over(now)
			case 1:
				r.Near(now)
			case 2:
				rest := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "rest"))
				r.Exceeded(now, rapid.Float64Range(0, 2*ceiling).Draw(t, "budget"), rapid.Bool().Draw(t, "well"), rest)
			case 3, 4:
				r.Good(now, units)
			default:
				if wait := r.Wait(now); wait > 0 {
					if wait > time.Duration(10/floor*float64(time.Second))+time.Second {
						t.Fatalf("waits %v", wait)
					}
					break
				}
				r.Take(now, units)
				taken += units
			}
			if l := r.Limit(now); !(l >= floor && l <= ceiling) || math.IsNaN(r.LastMax()) {
				t.Fatalf("the limit is %v, wMax %v", l, r.LastMax())
			}
			// The last unit taken may be large.
			if most := ceiling*(now.Sub(begin)+burst).Seconds() + 10; taken > most+1e-6 {
				t.Fatalf("%v taken, %v allowed", taken, most)
			}
		}
	})
}

// TestMeter compares the meter with a sum over all counted units.
func TestMeter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type event struct {
			at    time.Time
			units float64
		}
		var m meter
		var all []event
		now := start
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "passed")))
			e := event{now, rapid.Float64Range(0, 9).Draw(t, "units")}
			m.add(e.at, e.units)
			all = append(all, e)
			var most, least, average float64
			for _, e := range all {
				age := now.Sub(e.at)
				if age < time.Second {
					most += e.units
				}
				if age < 900*time.Millisecond {
					least += e.units
				}
				average += e.units / timeConstant * math.Exp(-age.Seconds()/timeConstant)
			}
			if got := m.lastSecond(now); got > most+1e-9 || got < least-1e-9 {
				t.Fatalf("%v in the last second, want %v to %v", got, least, most)
			}
			if got := m.average(now); math.Abs(got-average) > 1e-6 {
				t.Fatalf("average %v, want %v", got, average)
			}
		}
	})
}

package limits

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func limits(t testing.TB, name string) (Limiter, *clock) {
	c := newClock()
	l, err := New(name, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

// steadily asks at a rate for some seconds, and counts warnings and refusals.
func steadily(l Limiter, c *clock, rate, seconds, bytes int) (warned, refused int) {
	for range seconds {
		for range rate {
			if !l.Admit("a") {
				refused++
			} else if l.Spent("a", CostRequest, bytes) {
				warned++
			}
		}
		c.pass(time.Second)
	}
	return warned, refused
}

// Below 250 requests/s a rippled never warns, above it does; each warning costs, so that it
// continues to warn.
func TestRippledWarns(t *testing.T) {
	for _, c := range []struct {
		rate   int
		warned bool
	}{{100, false}, {240, false}, {262, true}, {1000, true}} {
		l, clock := limits(t, Rippled)
		warned, _ := steadily(l, clock, c.rate, 600, 0)
		if (warned > 0) != c.warned {
			t.Errorf("%d requests/s: %d warnings", c.rate, warned)
		}
		if warned > 600 {
			t.Errorf("%d requests/s: %d warnings in 600 s", c.rate, warned)
		}
	}
}

func TestRippledDrops(t *testing.T) {
	l, clock := limits(t, Rippled)
	// 25,000 x 32 / 20 = 40,000 requests in one moment, less one per 200 that the one warning
	// costs.
	served := 0
	for l.Admit("a") {
		l.Spent("a", CostRequest, 0)
		served++
	}
	if want := dropThreshold*decayWindow/CostRequest - costWarning/CostRequest; served != want {
		t.Errorf("%d requests are served in one moment, not %d", served, want)
	}
	if !l.Admit("b") {
		t.Error("another address is refused")
	}
	// It decays by a part in 32 each second: 1 s is enough to come back under, but for the refusal,
	// which costs 6,000.
	for seconds := 1; ; seconds++ {
		clock.pass(time.Second)
		e, _ := l.(*resources).entry("a")
		if e.balance() < dropThreshold {
			if seconds > 1 || !l.Admit("a") {
				t.Errorf("back after %d s with a balance of %d", seconds, e.balance())
			}
			break
		}
	}
	clock.pass(4*decayWindow*time.Second + time.Second)
	if e, _ := l.(*resources).entry("a"); e.value != 0 {
		t.Errorf("%d is left after four windows", e.value)
	}
}

// The balance equals that of rippled's DecayingSample, for any costs and intervals.
func TestRippledBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		r := &resources{now: c.Now, entries: map[string]*resource{}}
		var value int64
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			seconds := rapid.IntRange(0, 200).Draw(t, "seconds")
			cost := rapid.IntRange(0, 100_000).Draw(t, "cost")
			c.pass(time.Duration(seconds) * time.Second)
			if seconds > 4*decayWindow {
				value = 0
			}
			for range seconds {
				value -= (value + decayWindow - 1) / decayWindow
			}
			value += int64(cost)
			if r.Spent("a", cost, 0) {
				value += costWarning
			}
			if got := r.entries["a"].value; got != value {
				t.Fatalf("%d instead of %d", got, value)
			}
		}
	})
}

func TestClioBounds(t *testing.T) {
	t.Run("requests", func(t *testing.T) {
		l, clock := limits(t, Clio)
		if warned, refused := steadily(l, clock, 25, 10, 100); warned != 0 || refused != 50 {
			t.Errorf("%d warnings, %d refusals", warned, refused)
		}
		if warned, refused := steadily(l, clock, 20, 10, 100); warned != 0 || refused != 0 {
			t.Errorf("at the limit: %d warnings, %d refusals", warned, refused)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		l, clock := limits(t, Clio)
		// 187 kB five times is below 1 MB; the sixth goes over it, is still sent with a warning,
		// and the rest is refused.
		if warned, refused := steadily(l, clock, 5, 10, 187_000); warned != 0 || refused != 0 {
			t.Errorf("5 ledgers/s: %d warnings, %d refusals", warned, refused)
		}
		if warned, refused := steadily(l, clock, 8, 10, 187_000); warned != 10 || refused != 20 {
			t.Errorf("8 ledgers/s: %d warnings, %d refusals", warned, refused)
		}
	})
	t.Run("connections", func(t *testing.T) {
		l, clock := limits(t, Clio)
		for range maxConnections {
			l.Opened("a")
		}
		if !l.Admit("a") {
			t.Error("refused with 20 connections")
		}
		l.Opened("a")
		if l.Admit("a") || !l.Admit("b") {
			t.Error("taken with 21 connections, or another address refused")
		}
		l.Closed("a")
		if clock.pass(time.Second); !l.Admit("a") {
			t.Error("refused with 20 connections again")
		}
	})
}

func TestUnknownLimits(t *testing.T) {
	if _, err := New("some", time.Now); err == nil {
		t.Error("taken")
	}
}

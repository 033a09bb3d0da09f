package sim

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func limits(t testing.TB, name string) (limiter, *clock) {
	c := newClock()
	l, err := newLimiter(name, c.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

// steadily asks at a rate for some seconds, and counts warnings and refusals.
func steadily(l limiter, c *clock, rate, seconds, bytes int) (warned, refused int) {
	for range seconds {
		for range rate {
			if !l.admit("a") {
				refused++
			} else if l.spent("a", costRequest, bytes) {
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
		l, clock := limits(t, RippledLimits)
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
	l, clock := limits(t, RippledLimits)
	// 25,000 x 32 / 20 = 40,000 requests in one moment, less one per 200 that the one warning
	// costs.
	served := 0
	for l.admit("a") {
		l.spent("a", costRequest, 0)
		served++
	}
	if want := dropThreshold*decayWindow/costRequest - costWarning/costRequest; served != want {
		t.Errorf("%d requests are served in one moment, not %d", served, want)
	}
	if !l.admit("b") {
		t.Error("another address is refused")
	}
	// It decays by a part in 32 each second: 1 s is enough to come back under, but for the refusal,
	// which costs 6,000.
	for seconds := 1; ; seconds++ {
		clock.pass(time.Second)
		e, _ := l.(*resources).entry("a")
		if e.balance() < dropThreshold {
			if seconds > 1 || !l.admit("a") {
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
			if r.spent("a", cost, 0) {
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
		l, clock := limits(t, ClioLimits)
		if warned, refused := steadily(l, clock, 25, 10, 100); warned != 0 || refused != 50 {
			t.Errorf("%d warnings, %d refusals", warned, refused)
		}
		if warned, refused := steadily(l, clock, 20, 10, 100); warned != 0 || refused != 0 {
			t.Errorf("at the limit: %d warnings, %d refusals", warned, refused)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		l, clock := limits(t, ClioLimits)
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
		l, clock := limits(t, ClioLimits)
		for range maxConnections {
			l.opened("a")
		}
		if !l.admit("a") {
			t.Error("refused with 20 connections")
		}
		l.opened("a")
		if l.admit("a") || !l.admit("b") {
			t.Error("taken with 21 connections, or another address refused")
		}
		l.closed("a")
		if clock.pass(time.Second); !l.admit("a") {
			t.Error("refused with 20 connections again")
		}
	})
}

func TestUnknownLimits(t *testing.T) {
	if _, err := newLimiter("some", time.Now); err == nil {
		t.Error("taken")
	}
}

// Limits as clients see them. The clock does not advance.
func TestLimitsOverBothTransports(t *testing.T) {
	for _, software := range []string{RippledLimits, ClioLimits} {
		for _, transport := range []string{"http", "ws"} {
			t.Run(software+"/"+transport, func(t *testing.T) {
				c := newClock()
				s := start(t, small(Config{Limits: software, Now: c.Now}))
				var from caller = overHTTP(t, s)
				if transport == "ws" {
					from = overSocket(t, s)
				}
				addr := "127.0.0.1"
				if r, ok := s.limiter.(*resources); ok {
					r.spent(addr, warningThreshold*decayWindow-costRequest, 0) // all but one request of it
				} else {
					s.limiter.spent(addr, 0, maxFetches)
				}
				_, body, err := from.call("ledger", full(DefaultFirst, 1))
				if err != nil || parse(t, body).Warning != "load" {
					t.Fatalf("%.300s, %v", body, err)
				}
				if _, err := decode(t, body); err != nil {
					t.Error(err)
				}
				if software == RippledLimits {
					s.limiter.spent(addr, dropThreshold*decayWindow, 0)
				}
				status, body, err := from.call("ping", "")
				checkRefusal(t, software, transport, seen{status, body, err})
				if got := s.Injected(); got.Refused != 1 || got.Warned != 1 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func checkRefusal(t *testing.T, software, transport string, got seen) {
	t.Helper()
	ok := false
	switch software + transport {
	case "rippledhttp":
		ok = got.status == 503 && string(got.body) == "Server is overloaded"
	case "rippledws":
		ok = websocket.CloseStatus(got.err) == websocket.StatusPolicyViolation && bytes.Contains([]byte(got.err.Error()), []byte("threshold exceeded"))
	case "cliohttp":
		ok = got.status == 503 && parse(t, got.body).Code == 10 && parse(t, got.body).Error == "slowDown"
	case "cliows":
		ok = got.err == nil && parse(t, got.body).Code == 10 && bytes.Contains(got.body, []byte(`"id":"a1"`))
	}
	if !ok {
		t.Errorf("%d %s, %v", got.status, got.body, got.err)
	}
}

// Connections are counted from their beginning to their end, including WebSockets.
func TestConnectionsAreCounted(t *testing.T) {
	s := start(t, small(Config{Limits: ClioLimits}))
	g := s.limiter.(*guard)
	count := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.connections["127.0.0.1"]
	}
	web, socket := overHTTP(t, s), overSocket(t, s)
	for _, from := range []caller{web, socket} {
		if _, _, err := from.call("ping", ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 2 {
		t.Errorf("%d connections instead of 2", n)
	}
	socket.conn.CloseNow()
	web.client.CloseIdleConnections()
	until(t, func() error {
		if n := count(); n != 0 {
			return fmt.Errorf("%d connections are left", n)
		}
		return nil
	})
}

// until waits for a condition that is certain to become true.
func until(t testing.TB, check func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for err := check(); err != nil; err = check() {
		if time.Now().After(end) {
			t.Fatal(err)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

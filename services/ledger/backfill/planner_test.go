package backfill

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"dyno/services/ledger/xrpl/history"
)

var begin = time.Unix(1_700_000_000, 0)

func gap(from, to uint32) history.Range { return history.Range{From: from, To: to} }

// made is a planner with what a test leaves to chance.
func made(c ShardConfig) *planner {
	c.Size, c.Window = cmp.Or(c.Size, 16), cmp.Or(c.Window, 1024)
	c.Timeout = cmp.Or(c.Timeout, 8*time.Second)
	return newPlanner(c)
}

// take calls Next until it returns false, and returns the shards as text.
func take(p *planner, now time.Time) string {
	var out []string
	for s, ok := p.Next(now); ok; s, ok = p.Next(now) {
		text := s.Range.String()
		if s.Not != nil {
			text += fmt.Sprint(" not ", s.Not)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func next(t *testing.T, p *planner, now time.Time) shard {
	t.Helper()
	s, ok := p.Next(now)
	if !ok {
		t.Fatal("nothing to fetch")
	}
	return s
}

func TestCutsFromTheTopWithinTheWindow(t *testing.T) {
	for _, c := range []struct {
		name string
		c    ShardConfig
		want string
	}{
		{"all of it", ShardConfig{Gap: gap(1, 10), Size: 4}, "7-10, 3-6, 1-2"},
		{"one by one", ShardConfig{Gap: gap(7, 9), Size: 1}, "9, 8, 7"},
		{"one ledger", ShardConfig{Gap: gap(7, 7)}, "7"},
		{"nothing", ShardConfig{}, ""},
		{"a window", ShardConfig{Gap: gap(1, 100), Size: 4, Window: 10}, "97-100, 93-96"},
		{"a window of one", ShardConfig{Gap: gap(1, 100), Size: 4, Window: 1}, "100"},
		{"a shard larger than the window", ShardConfig{Gap: gap(1, 100), Size: 40, Window: 10}, "91-100"},
		{"the last ledger there can be", ShardConfig{Gap: gap(math.MaxUint32-2, math.MaxUint32), Size: 2}, "4294967294-4294967295, 4294967293"},
	} {
		if got := take(made(c.c), begin); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The window moves ledger by ledger; shards do not shrink for that.
func TestWindowMoves(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 100), Size: 4, Window: 10})
	take(p, begin)
	for _, c := range []struct {
		linked uint32
		want   string
	}{{100, ""}, {99, "89-92"}, {98, ""}, {95, "85-88"}, {3, "1-2"}, {2, ""}, {1, ""}} {
		p.Advance(c.linked)
		if got := take(p, begin); got != c.want {
			t.Errorf("linked down to %d: %s, want %s", c.linked, got, c.want)
		}
		if p.Done() != (c.linked == 1) {
			t.Errorf("linked down to %d: done is %v", c.linked, p.Done())
		}
	}
}

func TestFailedShardIsHalvedAndGoesElsewhere(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 16), Size: 8})
	high, low := next(t, p, begin), next(t, p, begin)
	if high.Timeout != 8*time.Second {
		t.Errorf("time-out %v", high.Timeout)
	}
	p.Arrived(16, begin)
	p.Failed(low, 8, "A")
	p.Failed(high, 14, "B") // 15 is answered, and being verified
	if !p.Wants(high, 15) || p.Wants(high, 14) || p.Wants(high, 16) {
		t.Error("what a shard that failed is still to bring")
	}
	if got := take(p, begin); got != "12-14 not B, 9-11 not B, 5-8 not A, 1-4 not A" {
		t.Error(got)
	}
	if s := p.Stats(); s.Retries != 4 || s.Splits != 2 || s.Shards != 6 {
		t.Errorf("%+v", s)
	}
	p.Failed(high, 14, "B") // a repeated call has no effect
	p.Failed(shard{ID: 99, Range: gap(1, 16)}, 16, nil)
	if got := take(p, begin); got != "" {
		t.Error("out of nothing:", got)
	}
}

// A half of one ledger is the ledger itself, however often it fails.
func TestOneLedgerFailsAgainAndAgain(t *testing.T) {
	p := made(ShardConfig{Gap: gap(5, 5)})
	for i := range 100 {
		s := next(t, p, begin)
		if s.Range != gap(5, 5) || i > 0 && s.Not != i-1 {
			t.Fatalf("%d: %+v", i, s)
		}
		p.Failed(s, 5, i)
	}
	next(t, p, begin)
	if !p.Arrived(5, begin) || p.Arrived(5, begin) {
		t.Error("a ledger arrives once")
	}
	if got := p.Stats(); got.Spare != 1 || got.Splits != 0 || got.Retries != 100 {
		t.Errorf("%+v", got)
	}
}

func TestRejected(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 4), Size: 2})
	next(t, p, begin)
	p.Rejected(4, "A", begin) // while it was verified
	p.Rejected(4, "A", begin) // a repeated call has no effect
	p.Arrived(3, begin)
	p.Rejected(3, "B", begin) // while it was linked
	p.Rejected(2, "C", begin) // no fetcher asked for it
	if got := take(p, begin); got != "4 not A, 3 not B, 1-2" {
		t.Error(got)
	}
	if !p.Arrived(3, begin) { // from any shard
		t.Error("a ledger that was rejected is wanted again")
	}
	if len(p.flights) != 2 {
		t.Errorf("%d shards are in flight, want 2: 4 and 1-2", len(p.flights))
	}
}

// A ledger that arrives while it is pending again is not fetched again.
func TestLateArrivalOfPendingLedger(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 4), Size: 4})
	s := next(t, p, begin)
	p.Failed(s, 4, "A")
	p.Arrived(4, begin)
	p.Arrived(2, begin)
	p.Arrived(1, begin)
	if got := take(p, begin); got != "3 not A" {
		t.Error(got)
	}
}

func TestAdvanceOverMissingLedgers(t *testing.T) {
	p := made(ShardConfig{Gap: gap(1, 100), Size: 4, Window: 8})
	s := next(t, p, begin)
	p.Failed(s, 100, "A")
	p.Advance(99)
	if got := take(p, begin); got != "97-98 not A, 93-96" {
		t.Error(got)
	}
	p.Advance(50) // some of it was not even cut
	if got := take(p, begin); got != "46-49, 42-45" {
		t.Error(got)
	}
	p.Advance(60) // has no effect: 50 is lower
	p.Advance(1)
	if !p.Done() || len(p.ledgers) > 0 || len(p.flights) > 0 {
		t.Errorf("done %v, %d ledgers, %d flights", p.Done(), len(p.ledgers), len(p.flights))
	}
}

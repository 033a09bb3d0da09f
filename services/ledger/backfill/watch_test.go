package backfill

import (
	"testing"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/trust"
)

// pause lets other goroutines run while a test waits for a condition.
func pause() { time.Sleep(time.Millisecond) }

func TestWatchCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(t, sim.Config{})
	p := pool(t, s)
	before := p.Report()[0]
	c := w.config(p, &keeper{})
	c.Level, c.Signatures, c.Watch, c.Shards.Size = trust.L4, signing.Checkers()["pure"], NewWatch(), 16
	if q := c.Watch.Quantile(0.95); q != 0 {
		t.Errorf("before the first ledger P95 is %v", q)
	}
	next, each := uint32(last), 0
	c.Watch.Each = func(index uint32, took time.Duration, bytes int) {
		if index != next || took <= 0 || bytes <= 0 {
			t.Errorf("called with ledger %d, %v, %d bytes; want ledger %d", index, took, bytes, next)
		}
		next--
		each += bytes
	}
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	got, after := c.Watch, p.Report()[0]
	for what, x := range map[string][2]uint64{
		"ledgers":       {got.Ledgers.Load(), ledgers},
		"transactions":  {got.Transactions.Load(), ledgers * transactions},
		"signatures":    {got.Signatures.Load(), ledgers * transactions},
		"bytes":         {got.Bytes.Load(), after.Bytes - before.Bytes},
		"bytes of each": {uint64(each), after.Bytes - before.Bytes},
		"requests":      {after.Requests - before.Requests, ledgers},
		"refetched":     {got.Refetched.Load(), 0},
		"wrong":         {got.Wrong.Load(), 0},
		"reported":      {uint64(last - next), ledgers},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %d, want %d", what, x[0], x[1])
		}
	}
	if p50, p95 := got.Quantile(0.5), got.Quantile(0.95); p50 <= 0 || p95 < p50 {
		t.Errorf("P50 %v, P95 %v", p50, p95)
	}
	if answering, verifying, sinking := got.Times(); answering <= 0 || verifying <= 0 || sinking <= 0 {
		t.Errorf("time in the stages: %v, %v, %v", answering, verifying, sinking)
	}

	// A short range gives each fetcher two shards or more.
	once := got.Shards()
	if want := uint64(2 * c.Fetches); once.Shards != want || once.Size != ledgers/int(want) || once.Splits+once.Retries+once.Spare > 0 {
		t.Errorf("%+v, want %d shards", once, want)
	}

	// A second range adds to the counts.
	next = last
	if err := Run(t.Context(), c, all); err != nil || got.Ledgers.Load() != 2*ledgers || got.Shards().Shards != 2*once.Shards {
		t.Errorf("%d ledgers after two ranges in %d shards, %v", got.Ledgers.Load(), got.Shards().Shards, err)
	}
}

// A sample is every n-th ledger by index, whichever range it is in.
func TestWatchCountsASample(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.config(pool(t, w.server(t, sim.Config{})), &keeper{})
	c.Level, c.Signatures, c.Watch, c.Sample = trust.L4, signing.Checkers()["pure"], NewWatch(), 5
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	want := 0
	for index := first; index <= last; index++ {
		if index%5 == 0 {
			want += transactions
		}
	}
	if n := c.Watch.Signatures.Load(); n != uint64(want) {
		t.Errorf("%d signatures were checked, want %d", n, want)
	}
}

// Repeated requests are counted as such.
func TestWatchCountsRefetches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Flip: 0.4}})
	p := pool(t, liar)
	before := p.Report()[0]
	c := w.config(p, &keeper{})
	c.Watch, c.Attempts = NewWatch(), 1000
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	after, wrong, again := p.Report()[0], c.Watch.Wrong.Load(), c.Watch.Refetched.Load()
	if sent := liar.Injected().Faults[fault.Flip].Sent; wrong == 0 || int64(wrong) != sent {
		t.Errorf("%d answers are counted as wrong, of %d", wrong, sent)
	}
	if asked := after.Requests - before.Requests; again < wrong || asked != ledgers+again {
		t.Errorf("%d requests for %d ledgers, %d answers were wrong, %d were requested again", asked, ledgers, wrong, again)
	}
	if s := c.Watch.Shards(); s.Retries == 0 || s.Retries > again {
		t.Errorf("%+v, and %d were requested again", s, again)
	}
	if c.Watch.Ledgers.Load() != ledgers {
		t.Errorf("%d ledgers", c.Watch.Ledgers.Load())
	}
}

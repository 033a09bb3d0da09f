package backfill

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"dyno/parts/queue"
	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/pace"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/shard"
)

// item is an answer on its way through the pipeline.
type item struct {
	index  uint32 // that was asked for
	shard  shard.Shard
	answer *rippled.Answer
	from   *pace.Member
	asked  time.Time
	proved time.Time
	header xrpl.Header
	hash   xrpl.Hash
	doubt  error  // why it does not verify at L4; nil: it does, or that was not asked
	held   int64  // bytes that it is counted as
	kept   uint64 // by the inbox, as; 0: it is not
}

// run is one gap being filled.
type run struct {
	Config
	gap     history.Range
	answers sync.Pool // of *rippled.Answer
	queue   queue.Queue[*item]

	wake   chan struct{} // the planner may have something new; capacity 1
	linked chan struct{} // the ledger that is to be linked next may be there; capacity 1

	held   atomic.Int64 // bytes of answers from the queue to the sink; bounded by WindowBytes and what is under way
	doubts doubts

	mu      sync.Mutex
	due     uint32    // the ledger that is to be linked next
	good    time.Time // when a right answer came last
	bad     error     // what came since, if it was not right
	gone    error     // nobody answers rightly any more
	planner *shard.Planner
	arrived map[uint32]*item  // from due down: proved by themselves, and wait for those above; bounded by the window
	trouble map[uint32]*tries // of ledgers from due down that somebody did not answer rightly
}

// tries is what a ledger has been through.
type tries struct {
	count int
	wrong []*pace.Member // who is not asked for it again
	last  error
}

// Run downloads a range, from its top down, and returns when the Sink has all of it. A ledger that cannot be had
// ends it with a *Missing when what is below cannot be proved without (L2 and above); at L0 and L1 the rest is downloaded, and
// the error joins a *Missing for each gap, of 100 at most. It is a *Mismatch when the range does not fit onto Config.Below. The Sink may have got what is above in both cases.
func Run(ctx context.Context, c Config, gap history.Range) error {
	c = c.withDefaults()
	if gap.Len() == 0 {
		return nil
	}
	if c.Below.Index != 0 && c.Below.Index != gap.From-1 {
		return fmt.Errorf("ledger %d is said to be right below the range, which begins with %d", c.Below.Index, gap.From)
	}
	expect, err := c.top(ctx, gap)
	if err != nil {
		return err
	}
	return c.run(ctx, gap, expect)
}

func (c Config) run(ctx context.Context, gap history.Range, expect xrpl.Hash) error {
	r := &run{Config: c, gap: gap, due: gap.To, wake: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		arrived: map[uint32]*item{}, trouble: map[uint32]*tries{}, good: time.Now()}
	r.answers.New = func() any { return new(rippled.Answer) }
	// Of a ledger at most two answers are under way, its own and a hedge's.
	waiting, err := queue.New[*item](c.Queue, queue.Config{Capacity: 2 * c.Window, Workers: c.Verifiers})
	if err != nil {
		return err
	}
	r.queue = weighed{waiting, r}
	shards := c.shards(gap)
	if err := shards.Check(); err != nil {
		return err
	}
	r.planner = shard.New(shards)

	group, ctx := errgroup.WithContext(ctx)
	fetched := make(chan struct{})
	group.Go(func() error {
		defer close(fetched)
		return r.drive(ctx)
	})
	group.Go(func() error { // who puts into the queue has ended when it is closed
		<-fetched
		r.queue.Close()
		return nil
	})
	for i := range c.Verifiers {
		group.Go(func() error { return r.verify(ctx, i) })
	}
	group.Go(func() error { return r.link(ctx, expect) })
	return group.Wait()
}

// shards is how a gap is cut.
func (c Config) shards(gap history.Range) shard.Config {
	shards := c.Shards.Within(gap, c.Window, c.Timeout)
	shards.Fetches = c.Fetches
	if each := gap.Len() / (2 * c.Fetches); shards.Size > each { // a short gap is everybody's work, too
		shards.Size = max(1, each)
	}
	if shards.Hedge == shard.P95 && len(c.Servers.Report()) < 2 {
		shards.Hedge = shard.None // a hedge asks somebody else; who is slow only gets slower by being asked twice
	}
	return shards
}

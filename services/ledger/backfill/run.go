package backfill

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

type item struct {
	index  uint32 // requested
	shard  shard
	answer *response.Answer
	from   *servers.Member
	asked  time.Time
	proved time.Time
	header xrpl.Header
	hash   xrpl.Hash
	sigErr error  // why it fails verification at L4; nil: it passes, or was not checked
	held   int64  // bytes that it counts for in run.held
	kept   uint64 // id in the inbox; 0: not kept
}

type run struct {
	Config
	gap     history.Range
	answers sync.Pool  // of *response.Answer
	queue   chan *item // from fetchers to verifiers; closed after the last fetcher has ended

	wake   chan struct{} // the planner may have something new; capacity 1
	linked chan struct{} // the next ledger to be linked may have arrived; capacity 1

	// Bytes of answers from the queue to the Sink; bounded by WindowBytes and requests in flight.
	held   atomic.Int64
	doubts doubts

	mu        sync.Mutex
	nextIndex uint32    // the next ledger to be linked
	lastGood  time.Time // time of the last right answer
	lastErr   error     // the last failure since then
	fatalErr  error     // no server sends right answers any more
	planner   *planner
	// By index, from nextIndex down: they wait for those above; bounded by the window.
	verified map[uint32]*item
	failures map[uint32]*tries // by index, from nextIndex down: failed attempts
}

type tries struct {
	count int
	wrong []*servers.Member // servers that are not asked for it again
	last  error
}

// Run downloads a range, from its top down, and returns when the Sink has all of it. A ledger that
// no server sends, neither by its index nor by its hash, is left out, and the rest is downloaded:
// the error joins a *Missing for each gap, at most 100. At L2 and above that needs the ledger's
// header; without it the gap reaches down to the range's end, because nothing below can be proved.
// The error is a *Mismatch when the range does not continue Config.Below. In both cases the Sink
// may already have the ledgers above.
func Run(ctx context.Context, c Config, gap history.Range) error {
	c = c.ready()
	if gap.Len() == 0 {
		return nil
	}
	if c.Below.Index != 0 && c.Below.Index != gap.From-1 {
		return fmt.Errorf("Config.Below is ledger %d, which is not directly below the range, which begins with %d", c.Below.Index, gap.From)
	}
	expect, err := c.top(ctx, gap)
	if err != nil {
		return err
	}
	return c.run(ctx, gap, expect)
}

func (c Config) run(ctx context.Context, gap history.Range, expect xrpl.Hash) error {
	r := &run{Config: c, gap: gap, nextIndex: gap.To, wake: make(chan struct{}, 1), linked: make(chan struct{}, 1),
		verified: map[uint32]*item{}, failures: map[uint32]*tries{}, lastGood: time.Now()}
	r.answers.New = func() any { return new(response.Answer) }
	// An answer for each ledger of the window, and those that come after theirs was given up.
	r.queue = make(chan *item, 2*c.Window)
	r.planner = newPlanner(c.shards(gap))

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(r.queue)
		return r.drive(ctx)
	})
	for range c.Verifiers {
		group.Go(func() error { return r.verify(ctx) })
	}
	group.Go(func() error { return r.link(ctx, expect) })
	return group.Wait()
}

func (c Config) shards(gap history.Range) ShardConfig {
	shards := c.Shards
	shards.Gap, shards.Window, shards.Timeout = gap, c.Window, c.Timeout
	share := min(gap.Len(), c.Window) / (2 * c.Fetches) // all fetchers share a short gap and a small window, too
	shards.Size = min(shards.Size, max(1, share))
	return shards
}

package testchain

import (
	"cmp"
	"context"
	"sync"

	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
)

// ahead is the block that would be made now. It is executed when a client asks, and again after another
// call, or when its time has passed.
type ahead struct {
	warming chan struct{} // of one place, which one goroutine has while it reads
	warm    uint64        // the version of the chain, plus 1, whose next block was read of another node last

	mu      sync.Mutex
	version uint64             // of the chain
	draft   *execution.Builder // nil: there is none
	asking  *asking            // by the draft, and by copies of its state
}

// forget ends the draft.
func (a *ahead) forget() {
	if a.draft != nil {
		a.draft.Abandon()
		a.draft = nil
	}
}

// PendingState implements api.Pool.
func (c *Chain) PendingState(ctx context.Context) (db *gethstate.StateDB, header *types.Header, err error) {
	err = c.look(ctx, func(draft *execution.Builder) { db, header = draft.State().Copy(), types.CopyHeader(draft.Header()) })
	return db, header, err
}

// PendingBlock implements api.Pool.
func (c *Chain) PendingBlock(ctx context.Context) (block *types.Block, receipts types.Receipts, err error) {
	err = c.look(ctx, func(draft *execution.Builder) { block, receipts = draft.Preview() })
	return block, receipts, err
}

// look shows the block that would be made now, which must not be changed.
func (c *Chain) look(ctx context.Context, see func(*execution.Builder)) error {
	if err := c.warmAhead(ctx); err != nil {
		return err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	a := &c.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.origin != nil && len(c.pool) == 0 { // a draft that costs little is the client's own, and asks until its end
		c.asking = newAsking(ctx)
		draft, err := c.draft(c.clock.next(clockNow()), nil)
		if err != nil {
			return err
		}
		defer draft.Abandon()
		if err := draft.State().Error(); err != nil {
			return err
		}
		see(draft)
		return nil
	}
	if a.asking == nil {
		a.asking = newAsking(context.Background()) // a draft is for other clients, too
	}
	a.asking.again()
	c.asking = a.asking
	k := c.clock
	time := k.next(clockNow())
	if a.draft == nil || a.version != c.version || a.draft.Header().Time != time {
		a.forget()
		draft, err := c.draft(time, nil)
		if err != nil {
			return err
		}
		if err := cmp.Or(c.fill(ctx, draft), draft.State().Error()); err != nil {
			draft.Abandon()
			return err
		}
		a.draft, a.version = draft, c.version
	}
	see(a.draft)
	return nil
}

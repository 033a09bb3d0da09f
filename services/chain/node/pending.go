package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/execution"
	"dyno/services/chain/limiter"
)

// errStopped is for a read after Close.
var errStopped = errors.New("the node has stopped; ask again when it has started")

// Bounds of what is executed to look ahead of the head, whatever gas its blocks may have: some 100 ms
// of transfers, or a second of contracts.
const (
	mostAhead   = 4096 // transactions
	gasAhead    = 120_000_000
	mostLooking = 256 // callers that wait for the one that looks ahead
	longestLook = 5 * time.Second
)

// ahead is the next block as it would be made now, and the state after all that waits. It is
// executed when a caller asks, and again when the head has grown or what waits has changed; what
// only comes behind is added.
type ahead struct {
	one    *limiter.Limiter // bounds the callers
	mu     sync.Mutex       // held by the one that uses what follows, and executes
	closed bool
	drafts
}

// drafts are what was executed, and what is left of it.
type drafts struct {
	parent  *types.Header
	changes uint64                  // of the pool
	txs     types.Transactions      // that are tried, in their order
	tried   int                     // of them
	left    uint64                  // gas for the rest
	draft   *blockchain.Draft       // nil: there is none
	beyond  *execution.Builder      // has what the block has no room for; nil: there is nothing
	behind  map[common.Address]bool // senders whose transactions are there
}

// PendingBlock is the next block as it would be sealed now, with what consensus knows of its
// receipts. Its root is not computed.
func (n *Node) PendingBlock(ctx context.Context) (block *types.Block, receipts types.Receipts, err error) {
	err = n.lookAhead(ctx, func(a *ahead) { block, receipts = a.draft.Preview() })
	return block, receipts, err
}

// PendingState returns the header of the next block as it would be sealed now, and the state after
// all transactions that wait and can be executed, for one caller, who may change it.
func (n *Node) PendingState(ctx context.Context) (db *gethstate.StateDB, header *types.Header, err error) {
	err = n.lookAhead(ctx, func(a *ahead) { db, header = a.newest().Copy(), types.CopyHeader(a.draft.Header()) })
	return db, header, err
}

// lookAhead shows what lies ahead at present, which must not be changed.
func (n *Node) lookAhead(ctx context.Context, see func(*ahead)) error {
	a := &n.ahead
	if err := a.one.Acquire(ctx); err != nil {
		return overloaded(err, ErrPending)
	}
	defer a.one.Release()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errStopped
	}
	for {
		head, changes := n.chain.Head(), n.pool.Changes()
		same := a.draft != nil && a.parent == head && a.draft.Header().Time == now(head)
		if !same || a.changes != changes {
			txs, changes := n.pool.Pending(n.chain.NextBaseFee(head), mostAhead)
			if n.chain.Head() != head { // it may have what has left the pool
				continue
			}
			if !same || !a.grows(txs) {
				a.forget()
				draft, err := n.chain.Look(now(head))
				if err != nil {
					return err
				}
				a.parent, a.draft, a.left = head, draft, gasAhead
			}
			a.txs, a.changes = txs, changes
		}
		if err := a.execute(ctx, n.o.Sealing.Max, n.view.Load().judge); err != nil {
			return err // the next caller continues
		}
		see(a)
		return nil
	}
}

// grows reports whether transactions are those that were tried, and others behind them, which
// can be added.
func (a *ahead) grows(txs types.Transactions) bool {
	if a.beyond != nil || len(txs) < len(a.txs) {
		return false
	}
	for i, tx := range a.txs {
		if tx != txs[i] {
			return false
		}
	}
	return true
}

// execute tries the transactions that were not, in the draft, and those for which it has no room, and
// later ones of their senders, beyond it. What cannot be executed is left out: a block that is being
// sealed may have it, or it will fail there, too.
func (a *ahead) execute(ctx context.Context, most int, judge execution.Judge) error {
	for ; a.tried < len(a.txs); a.tried++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		tx := a.txs[a.tried]
		if tx.Gas() > a.left {
			continue
		}
		from, into := judge.Sender(tx), a.draft.Builder
		if a.behind[from] || tx.Gas() > a.draft.GasLeft() || a.draft.Len() >= most {
			if a.beyond == nil {
				a.beyond, a.behind = a.draft.Beyond(a.left), map[common.Address]bool{}
			}
			a.behind[from] = true
			into = a.beyond
		}
		if before := into.GasLeft(); into.Add(tx) == nil {
			a.left -= before - into.GasLeft()
		}
	}
	return nil
}

// newest is the state after all that was executed.
func (a *ahead) newest() *gethstate.StateDB {
	if a.beyond != nil {
		return a.beyond.State()
	}
	return a.draft.State()
}

// forget ends the draft.
func (a *ahead) forget() {
	if a.draft != nil {
		a.draft.Abandon()
	}
	if a.beyond != nil {
		a.beyond.Abandon()
	}
	a.drafts = drafts{}
}

// close ends the draft when the caller that uses it has returned; later ones get an error.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	a.closed = true
}

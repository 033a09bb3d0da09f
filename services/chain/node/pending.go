package node

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/execution"
)

// Bounds of what is executed to look ahead of the next block: some 100 ms of transfers, or a second
// of contracts.
const (
	mostAhead = 4096 // transactions
	gasAhead  = 3    // of blocks, beyond the next one
)

// ahead is the next block as it would be made now, and the state after all that waits. It is
// executed when a caller asks, and again when the head has grown or what waits has changed; what
// only comes behind is added.
type ahead struct {
	mu      sync.Mutex
	parent  *types.Header
	changes uint64             // of the pool
	txs     types.Transactions // that were tried, in their order
	draft   *blockchain.Draft  // nil: there is none
	beyond  *execution.Builder // has what the block has no room for; nil: there is nothing
}

// PendingBlock is the next block as it would be sealed now, with what consensus knows of its
// receipts. Its root is not computed.
func (n *Node) PendingBlock() (*types.Block, types.Receipts, error) {
	a := &n.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := n.lookAhead(); err != nil {
		return nil, nil, err
	}
	block, receipts := a.draft.Preview()
	return block, receipts, nil
}

// PendingState returns the header of the next block as it would be sealed now, and the state after
// all transactions that wait and can be executed, for one caller, who may change it.
func (n *Node) PendingState() (*gethstate.StateDB, *types.Header, error) {
	a := &n.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := n.lookAhead(); err != nil {
		return nil, nil, err
	}
	return a.newest().Copy(), types.CopyHeader(a.draft.Header()), nil
}

// lookAhead makes ahead that of the present. Its lock is held.
func (n *Node) lookAhead() error {
	a := &n.ahead
	for {
		head, changes := n.chain.Head(), n.pool.Changes()
		same := a.draft != nil && a.parent == head && a.draft.Header().Time == now(head)
		if same && a.changes == changes {
			return nil
		}
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
			a.parent, a.draft = head, draft
		}
		a.execute(txs[len(a.txs):], n.o.Sealing.Max, n.view.Load().judge)
		a.txs, a.changes = txs, changes
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

// execute adds transactions to the draft, and those for which it has no room, and later ones of
// their senders, beyond it. What cannot be executed is left out: a block that is being sealed may
// have it, or it will fail there, too.
func (a *ahead) execute(txs types.Transactions, most int, judge execution.Judge) {
	var rest types.Transactions
	behind := map[common.Address]bool{}
	for _, tx := range txs {
		from := judge.Sender(tx)
		if behind[from] || tx.Gas() > a.draft.GasLeft() || a.draft.Len() >= most {
			behind[from] = true
			rest = append(rest, tx)
			continue
		}
		_ = a.draft.Add(tx)
	}
	if len(rest) == 0 {
		return
	}
	a.beyond = a.draft.Beyond(gasAhead * a.draft.Header().GasLimit)
	for _, tx := range rest {
		_ = a.beyond.Add(tx)
	}
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
	a.parent, a.changes, a.txs, a.draft, a.beyond = nil, 0, nil, nil, nil
}

package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/journal"
	"dyno/services/chain/mempool"
)

// Journal is where a node promises: a *journal.Journal for one node alone, or a Shared one.
type Journal interface {
	Replay(ctx context.Context, chain journal.Chain) (types.Transactions, error)
	Accept(raws ...[]byte) error
	Seal(block *types.Block) error
	Checkpoint(head uint64, waiting func() [][]byte) error
	Size() int64
	Low() bool
	Close() error
}

// Shared is a journal that several nodes have. What another node has appended comes by Take and
// Follow.
type Shared interface {
	Journal
	// Leads reports whether this node accepts and seals for all.
	Leads() bool
	// Forward has the leader accept transactions.
	Forward(ctx context.Context, raws [][]byte) []Submitted
	// Ready returns why this node should not be asked now: it has no leader, or lacks blocks.
	Ready() error
}

// ErrLeader means that the leader of the nodes has changed, or that there is none.
var ErrLeader = errors.New("the nodes have no leader now, or another: whether the transaction was accepted is not known; send it again")

// forward has the leader accept transactions, and takes up what it has accepted without waiting until
// the journal brings it: the caller may ask for it next.
func (n *Node) forward(ctx context.Context, raws [][]byte) []Submitted {
	out := n.shared.Forward(ctx, raws)
	var accepted [][]byte
	for i := range out {
		if out[i].Err == nil {
			accepted = append(accepted, raws[i])
		}
	}
	n.Take(accepted)
	return out
}

// Take takes up transactions of a shared journal, those that this node has accepted, too. Of each
// it returns why it does not wait here.
func (n *Node) Take(raws [][]byte) []error {
	errs := make([]error, len(raws))
	view := n.view.Load()
	var added []*mempool.Entry
	for i, raw := range raws {
		tx := new(types.Transaction)
		err := tx.UnmarshalBinary(raw)
		if err == nil {
			if e := n.pool.Get(tx.Hash()); e != nil {
				n.pool.Confirm(e)
				continue
			}
			var e *mempool.Entry
			if e, err = view.entry(tx, raw); err == nil {
				err = n.pool.Add(e, nil) // the leader has judged its fee
			}
			if err == nil {
				n.pool.Confirm(e)
				added = append(added, e)
			}
		}
		if errs[i] = err; err != nil { // it is in a block that this node has, after a restart
			n.o.Log.Debug("a transaction of the journal does not wait here", "hash", tx.Hash(), "reason", err)
		}
	}
	if len(added) > 0 {
		n.feed.accept(added)
	}
	return errs
}

// Follow appends a block of a shared journal that another node has sealed, unless it does not
// follow the head: then the journal has another one before it, or this node has it.
func (n *Node) Follow(ctx context.Context, block *types.Block) error {
	n.sealing.Lock()
	defer n.sealing.Unlock()
	if head := n.chain.Head(); block.ParentHash() != head.Hash() || block.NumberU64() != head.Number.Uint64()+1 {
		n.o.Log.Debug("a block of the journal is passed by", "block", block.NumberU64(), "head", head.Number)
		return nil
	}
	txs := block.Transactions()
	for i, tx := range txs {
		if e := n.pool.Get(tx.Hash()); e != nil {
			txs[i] = e.Tx // which remembers its sender
		}
	}
	if err := n.chain.Append(ctx, block); err != nil {
		return fmt.Errorf("block %d (%x): %w", block.NumberU64(), block.Hash(), err)
	}
	if err := n.look(); err != nil {
		return err
	}
	n.pool.Sealed(n.minedBy(txs), nil)
	n.feed.grow()
	return nil
}

// minedBy makes entries of the transactions of a block.
func (n *Node) minedBy(txs types.Transactions) []*mempool.Entry {
	signer := types.LatestSigner(n.chain.Genesis.Config)
	mined := make([]*mempool.Entry, 0, len(txs))
	for _, tx := range txs {
		if from, err := types.Sender(signer, tx); err == nil { // the block was executed
			mined = append(mined, mempool.NewEntry(tx, from, nil))
		}
	}
	return mined
}

package node

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/mempool"
)

// sealLoop seals blocks until ctx ends.
func (n *Node) sealLoop(ctx context.Context) {
	offered := func() int { // the senders whose next transaction can be sealed, or all that wait behind those
		stats := n.pool.Stats()
		if stats.Offered == 0 {
			return 0
		}
		return stats.Executable
	}
	for n.o.Sealing.Wait(ctx, n.pool.Ready(), offered) == nil {
		sealed, err := n.seal()
		if err != nil {
			n.stumble(err)
		}
		if sealed {
			continue
		}
		retry := time.NewTimer(watchEvery)
		select { // for what comes next, or room on the disk
		case <-n.pool.Ready():
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
	}
}

// seal makes a block of what can be sealed. It reports false if there is nothing.
func (n *Node) seal() (sealed bool, err error) {
	if err := n.full(); err != nil {
		return false, err
	}
	n.sealing.Lock()
	defer n.sealing.Unlock()
	head := n.chain.Head()
	draft, err := n.chain.Begin(now(head))
	if err != nil {
		return false, err
	}
	mined := n.fill(draft)
	if len(mined) == 0 && !n.cheapens(head, draft) {
		draft.Abandon()
		n.pool.Release()
		return false, nil
	}
	block, err := draft.Finish()
	if err != nil {
		n.pool.Release()
		return false, err
	}
	if err := n.journal.Seal(block); err != nil {
		n.pool.Release()
		return false, err
	}
	// From here on the block exists, whatever happens: after a failure the next process takes it from
	// the journal.
	if err := n.chain.Put(draft); err != nil {
		return false, err
	}
	if err := n.look(); err != nil {
		return false, err
	}
	n.pool.Sealed(mined, nil)
	n.feed.grow()
	return true, nil
}

// fill adds transactions to a block, and returns those that are in it. One that cannot be executed
// is left out with its sender's later ones.
func (n *Node) fill(draft *blockchain.Draft) (mined []*mempool.Entry) {
	header := draft.Header()
	for len(mined) < n.o.Sealing.Max {
		entries := n.pool.Next(header.BaseFee, draft.GasLeft(), n.o.Sealing.Max-len(mined))
		failed := false
		for _, e := range entries {
			if err := draft.Add(e.Tx); err != nil {
				failed = true
				n.pool.Failed(e)
				n.o.Log.Debug("a transaction is left out of a block", "hash", e.Tx.Hash(), "block", header.Number, "reason", err)
				continue
			}
			mined = append(mined, e)
		}
		if len(entries) == 0 || failed {
			break
		}
	}
	return mined
}

// cheapens reports whether an empty block makes the base fee fall for transactions that cannot pay
// it: without blocks they would wait for ever.
func (n *Node) cheapens(head *types.Header, draft *blockchain.Draft) bool {
	base := draft.Header().BaseFee
	if base == nil || n.pool.Stats().Offered == 0 {
		return false
	}
	if len(n.pool.Next(nil, head.GasLimit, 1)) == 0 {
		return false
	}
	return n.chain.NextBaseFee(draft.Header()).Cmp(base) < 0
}

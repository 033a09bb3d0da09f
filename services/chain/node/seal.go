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
	offered := func() int {
		stats := n.pool.Stats()
		if stats.Offered == 0 {
			return 0
		}
		return max(stats.Executable, 1)
	}
	coming := func() bool { return n.submitting.Load() > 0 }
	for n.o.Sealing.Wait(ctx, n.pool.Ready(), offered, coming) == nil && !n.failed.Load() {
		if n.seal() {
			continue
		}
		retry := time.NewTimer(watchEvery / 10)
		select { // for what comes next, room on the disk, or the lead
		case <-n.pool.Ready():
		case <-retry.C:
		case <-ctx.Done():
		}
		retry.Stop()
	}
}

// seal makes a block of what can be sealed. It reports false if there is none.
func (n *Node) seal() bool {
	if err := Full(n.o.Space); err != nil {
		n.pause(err)
		return false
	}
	n.sealing.Lock()
	defer n.sealing.Unlock()
	if n.shared != nil && !n.shared.Leads() {
		return false
	}
	began := time.Now()
	draft, mined, err := n.draft()
	if err != nil {
		n.fail(err)
	}
	if draft == nil {
		n.pool.Release()
		return false
	}
	made := time.Since(began)
	ctx, span := n.beginBlock(began, draft.Block(), mined)
	defer func() { end(span, err) }()
	_, write := n.begin(ctx, "journal.Seal")
	err = n.journal.Seal(draft.Block())
	if end(write, err); err != nil {
		n.pool.Release()
		n.stumble(err)
		return false
	}
	written := time.Now()
	// From here on the block exists, whatever happens: after an error, the next process takes it from
	// the journal.
	_, write = n.begin(ctx, "blockchain.WriteBlock")
	err = n.chain.Put(draft)
	if end(write, err); err == nil {
		err = n.look()
	}
	if err != nil {
		n.fail(err)
		return false
	}
	n.pool.Sealed(mined, nil)
	n.o.Sealing.Made(made+time.Since(written), half(draft.Block()))
	n.feed.grow()
	return true
}

// half is how many transactions like those of a block use half of its gas.
func half(b *types.Block) int {
	if b.GasUsed() == 0 {
		return 0
	}
	return int(float64(b.GasLimit()/2) / float64(b.GasUsed()) * float64(len(b.Transactions())))
}

// draft executes what can be sealed; nil: there is nothing.
func (n *Node) draft() (*blockchain.Draft, []*mempool.Entry, error) {
	head := n.chain.Head()
	draft, err := n.chain.Begin(now(head))
	if err != nil {
		return nil, nil, err
	}
	mined := n.fill(draft)
	if len(mined) == 0 && !n.o.Sealing.empty && !n.cheapens(head, draft) {
		draft.Abandon()
		return nil, nil, nil
	}
	if err := draft.Finish(); err != nil {
		return nil, nil, err
	}
	return draft, mined, nil
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
	return base != nil && n.chain.NextBaseFee(draft.Header()).Cmp(base) < 0 && len(n.pool.Next(nil, head.GasLimit, 1)) > 0
}

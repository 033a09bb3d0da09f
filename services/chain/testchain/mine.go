package testchain

import (
	"context"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/execution"
)

func (c *Chain) head() *types.Header { return c.blocks[len(c.blocks)-1].block.Header() }

// db is the state after the last block and what was written since.
func (c *Chain) db() (*gethstate.StateDB, error) { return gethstate.New(c.root, c.states) }

// header is that of a block at a time, as calls have set it.
func (c *Chain) header(time uint64) (*types.Header, error) {
	h, err := c.executor.Next(c.head(), time)
	if err != nil {
		return nil, err
	}
	h.Coinbase = c.coinbase
	if c.gasLimit > 0 {
		h.GasLimit = c.gasLimit
	}
	if c.baseFee != nil && h.BaseFee != nil {
		h.BaseFee = c.baseFee
	}
	h.MixDigest = crypto.Keccak256Hash(h.Number.Bytes(), h.ParentHash[:])
	if c.random != nil {
		h.MixDigest = *c.random
	}
	return h, nil
}

// draft begins a block.
func (c *Chain) draft(time uint64) (*execution.Builder, error) {
	h, err := c.header(time)
	if err != nil {
		return nil, err
	}
	db, err := c.db()
	if err != nil {
		return nil, err
	}
	return c.executor.BuildTest(c.head(), h, db, ancestors{c}), nil
}

// mine makes a block of the waiting transactions that can be executed.
func (c *Chain) mine() error {
	b, err := c.draft(c.clock.next(c.now))
	if err != nil {
		return err
	}
	if err := c.fill(context.Background(), b); err != nil {
		return err
	}
	block, receipts, err := b.Finish()
	if err != nil {
		return err
	}
	if c.root, err = b.State().Commit(c.executor.Rules(block.Header()), block.NumberU64()); err != nil {
		return err
	}
	c.baseFee, c.random = nil, nil
	c.append(block, receipts)
	c.pool = slices.DeleteFunc(c.pool, func(tx *types.Transaction) bool {
		_, mined := c.index[tx.Hash()]
		return mined || tx.Nonce() < b.State().GetNonce(c.sender(tx))
	})
	return nil
}

// fill adds what waits, as often as one makes another one possible. Its error is the context's.
func (c *Chain) fill(ctx context.Context, b *execution.Builder) error {
	rest := slices.Clone(c.pool)
	for added := true; added; {
		added = false
		rest = slices.DeleteFunc(rest, func(tx *types.Transaction) bool {
			done := ctx.Err() == nil && tx.Gas() <= b.GasLeft() && b.Add(tx) == nil
			added = added || done
			return done
		})
	}
	return ctx.Err()
}

// write changes the state after the last block.
func (c *Chain) write(change func(*gethstate.StateDB)) error {
	db, err := c.db()
	if err != nil {
		return err
	}
	change(db)
	db.Finalise(c.executor.Rules(c.head()))
	root, err := db.Commit(c.executor.Rules(c.head()), c.head().Number.Uint64())
	if err != nil {
		return err
	}
	c.root = root
	c.blocks[len(c.blocks)-1].root = root
	return nil
}

func (c *Chain) signer() types.Signer {
	return execution.Impersonating(types.LatestSigner(c.genesis.Config))
}

// sender of a transaction that was judged.
func (c *Chain) sender(tx *types.Transaction) common.Address {
	from, _ := types.Sender(c.signer(), tx)
	return from
}

// ancestors shows the blocks to the executor.
type ancestors struct{ c *Chain }

// Header implements execution.Ancestors.
func (a ancestors) Header(n uint64) *types.Header {
	if block := a.Block(n); block != nil {
		return block.Header()
	}
	return nil
}

// Block implements execution.Ancestors.
func (a ancestors) Block(n uint64) *types.Block {
	if n < uint64(len(a.c.blocks)) {
		return a.c.blocks[n].block
	}
	return nil
}

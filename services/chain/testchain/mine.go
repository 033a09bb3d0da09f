package testchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/console"
	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

func (c *Chain) head() *types.Header { return c.blocks[len(c.blocks)-1].block.Header() }

// db is the state after the last block and what was written since, for a call.
func (c *Chain) db() (*gethstate.StateDB, error) { return gethstate.New(c.root, c.states.by(c.asking)) }

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

// limit is the gas of the next block.
func (c *Chain) limit() uint64 { return cmp.Or(c.gasLimit, c.head().GasLimit) }

// GasLimit implements api.Backend's.
func (c *Chain) GasLimit() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.limit()
}

// draft begins a block. Its contracts print into lines.
func (c *Chain) draft(time uint64, lines *console.Lines) (*execution.Builder, error) {
	h, err := c.header(time)
	if err != nil {
		return nil, err
	}
	db, err := c.db()
	if err != nil {
		return nil, err
	}
	b := c.executor.BuildTest(c.head(), h, db, ancestors{c}, c.signatures, lines.Hooks())
	if !c.strict {
		b.RefuseCode()
	}
	return b, nil
}

// mine makes a block of the waiting transactions that can be executed.
func (c *Chain) mine() error {
	b, err := c.draft(c.clock.next(c.now), c.lines)
	if err != nil {
		return err
	}
	if err := c.fill(context.Background(), b); err != nil {
		b.Abandon()
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

// fill adds what waits, as often as one makes another one possible. Its error is the context's, or that an
// older block of another node could not be read. One goroutine executes at a time.
func (c *Chain) fill(ctx context.Context, b *execution.Builder) error {
	c.missed, c.refused = nil, map[common.Hash]error{}
	rest := slices.Clone(c.pool)
	if c.fees {
		rest = c.byFees(rest, b.Header().BaseFee)
	}
	for added := true; added; {
		added = false
		rest = slices.DeleteFunc(rest, func(tx *types.Transaction) bool {
			delete(c.refused, tx.Hash())
			if ctx.Err() != nil || tx.Gas() > b.GasLeft() {
				return false
			}
			err := b.Add(tx)
			if err != nil && !errors.Is(err, core.ErrGasLimitReached) && !errors.Is(err, core.ErrNonceTooHigh) {
				c.refused[tx.Hash()] = err
			}
			added = added || err == nil
			return err == nil
		})
	}
	return cmp.Or(ctx.Err(), c.missed)
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
	c.gone++
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
	if o := a.c.origin; o != nil && n < o.number {
		header, err := o.ancestor(a.c.asking, n)
		if err != nil {
			a.c.missed = err // a contract that asks for the hash would get another one
		}
		return header
	}
	return nil
}

// Block implements execution.Ancestors.
func (a ancestors) Block(n uint64) *types.Block {
	if s := a.c.here(n); s != nil {
		return s.block
	}
	return nil
}

// mineOne makes a block, of the time in seconds or as an object says.
func (c *Chain) mineOne(params json.RawMessage) (any, error) {
	var text json.RawMessage
	if err := jsonrpc.Params(params, 0, &text); err != nil {
		return nil, err
	}
	o := struct{ Timestamp, Blocks *quantity }{}
	if len(text) > 0 && text[0] == '{' {
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 0: %v", err)
		}
	} else if len(text) > 0 {
		o.Timestamp = new(quantity)
		if err := json.Unmarshal(text, o.Timestamp); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 0: %v", err)
		}
	}
	if o.Timestamp != nil && o.Timestamp.Sign() > 0 {
		t, err := o.Timestamp.uint64()
		if err == nil {
			err = c.clock.set(t)
		}
		if err != nil {
			return nil, err
		}
	}
	count := uint64(1)
	if o.Blocks != nil {
		count = min(o.Blocks.Uint64(), mostMined)
	}
	return "0x0", c.mineAll(count, func(uint64) {})
}

// mineAll makes a number of blocks, and calls a function before each. It ends when the client does not wait any
// more, whose first block is made all the same.
func (c *Chain) mineAll(count uint64, before func(i uint64)) error {
	for i := range count {
		if err := c.asking.ctx.Err(); i > 0 && err != nil {
			return err
		}
		before(i)
		if err := c.mine(); err != nil {
			return err
		}
	}
	return nil
}

// mostMined bounds the blocks of one call.
const mostMined = 100_000

// mineSpaced is the record of anvil_mine; journals of before have that name where the first block came
// without its seconds.
const mineSpaced = "mine"

// mineSpaced makes a number of blocks, each a number of seconds after the one before, as anvil does.
func (c *Chain) mineSpaced(params json.RawMessage) (any, error) {
	count, step, err := countAndStep(params)
	if err == nil && step.Cmp(longest) > 0 {
		err = jsonrpc.Errorf(jsonrpc.InvalidParams, "%v seconds are too many", &step.Int)
	}
	if err != nil {
		return nil, err
	}
	return nil, c.mineAll(count, func(uint64) {
		if step.Sign() > 0 {
			c.clock.increase(step.Int64(), c.now)
		}
	})
}

func countAndStep(params json.RawMessage) (n uint64, step quantity, err error) {
	count := quantity{*big.NewInt(1)}
	if err := jsonrpc.Params(params, 0, &count, &step); err != nil {
		return 0, step, err
	}
	if !count.IsUint64() || count.Uint64() > mostMined {
		return 0, step, jsonrpc.Errorf(jsonrpc.InvalidParams, "at most %d blocks can be mined by one call", mostMined)
	}
	return count.Uint64(), step, nil
}

// mineMany is mineSpaced as Hardhat does it: the first block has the time at which it is made. Journals of
// before have records of it with any number of seconds.
func (c *Chain) mineMany(params json.RawMessage) (any, error) {
	count, step, err := countAndStep(params)
	if err != nil {
		return nil, err
	}
	return nil, c.mineAll(count, func(i uint64) {
		if i > 0 && step.Sign() > 0 {
			t := c.clock.last + step.Uint64()
			c.clock.exact = &t
		}
	})
}

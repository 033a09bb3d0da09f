package testchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// rollback takes back a number of blocks, one unless it is named, as anvil does: their transactions do not
// wait again.
func (c *Chain) rollback(params json.RawMessage) (any, error) {
	depth := quantity{*big.NewInt(1)}
	if err := jsonrpc.Params(params, 0, &depth); err != nil {
		return nil, err
	}
	left, err := c.leaves("Rollback", &depth)
	if err != nil || left == len(c.blocks) {
		return nil, err
	}
	c.takeBack(left)
	c.goOn(left)
	return nil, nil
}

// leaves is how many blocks are left when the last ones are taken back.
func (c *Chain) leaves(what string, depth *quantity) (blocks int, err error) {
	if most := uint64(len(c.blocks) - 1); !depth.IsUint64() || depth.Uint64() > most {
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s depth must not exceed current chain height: current height %d, depth %v", what, most, &depth.Int)
	}
	return len(c.blocks) - int(depth.Uint64()), nil
}

// goOn continues after a number of blocks, behind which others were taken back with their snapshots.
func (c *Chain) goOn(blocks int) {
	last := c.blocks[blocks-1]
	c.root = last.root
	c.snapshots = slices.DeleteFunc(c.snapshots, func(s *snapshot) bool { return s.blocks > blocks })
	c.clock.reset(last.block.Time(), c.now)
	c.changed()
}

// reorganisation is the parameters of anvil_reorg: how many blocks others replace, and what these have.
type reorganisation struct {
	Depth quantity `json:"depth"`
	Pairs []pair   `json:"tx_block_pairs"`
}

// pair is a signed transaction, and the number of its block among the new ones, from 0 on.
type pair struct {
	raw   hexutil.Bytes
	block quantity
}

func (p *pair) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if json.Unmarshal(text, &parts) != nil || len(parts) != 2 {
		return errors.New("a transaction and its block are [TRANSACTION, NUMBER]")
	}
	if err := json.Unmarshal(parts[0], &p.raw); err != nil {
		return fmt.Errorf("a transaction must be signed and in hexadecimal: %w", err)
	}
	return json.Unmarshal(parts[1], &p.block)
}

// reorg replaces the last blocks by as many others, which have the given transactions only. The first has
// other randomness than the one that it replaces, so that none of them has its hash.
func (c *Chain) reorg(params json.RawMessage) (any, error) {
	var o reorganisation
	var err error
	if bytes.HasPrefix(params, []byte("{")) {
		err = json.Unmarshal(params, &o)
	} else {
		err = jsonrpc.Params(params, 1, &o.Depth, &o.Pairs)
	}
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v", err)
	}
	left, err := c.leaves("Reorg", &o.Depth)
	if err != nil || left == len(c.blocks) {
		return nil, err
	}
	blocks, err := o.blocks()
	if err != nil {
		return nil, err
	}
	gone, pool, snapshots := slices.Clone(c.blocks[left:]), c.pool, slices.Clone(c.snapshots)
	c.truncate(left)
	c.goOn(left)
	random, fees := gone[0].block.Hash(), c.fees
	c.random, c.fees = &random, false // in the order in which they are given
	for i := 0; i < len(blocks) && err == nil; i++ {
		err = c.mineOnly(blocks[i])
	}
	if c.fees = fees; err != nil {
		c.truncate(left)
		for _, s := range gone {
			c.add(s)
		}
		c.snapshots = snapshots
		return nil, err
	}
	c.pool = slices.DeleteFunc(slices.Clone(pool), func(tx *types.Transaction) bool { _, mined := c.index[tx.Hash()]; return mined })
	c.gone += len(gone)
	c.reverts.add(c.base()+uint64(left-1), gone)
	c.turn()
	return nil, nil
}

// blocks are the transactions of the new blocks.
func (o *reorganisation) blocks() ([][]hexutil.Bytes, error) {
	if o.Depth.Cmp(big.NewInt(mostMined)) > 0 {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "at most %d blocks can be mined by one call", mostMined)
	}
	blocks := make([][]hexutil.Bytes, o.Depth.Uint64())
	for _, p := range o.Pairs {
		if p.block.Cmp(&o.Depth.Int) >= 0 {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "Block number for reorg tx will exceed the reorged chain height. Block number %v must not exceed (depth-1) %d", &p.block.Int, len(blocks)-1)
		}
		i := p.block.Uint64()
		blocks[i] = append(blocks[i], p.raw)
	}
	return blocks, nil
}

// mineOnly makes a block of all of some transactions, and of no others.
func (c *Chain) mineOnly(raws []hexutil.Bytes) error {
	c.pool = nil
	for _, raw := range raws {
		tx, err := execution.DecodeTransaction(raw)
		if err == nil {
			err = c.accept(tx, len(raw))
		}
		if err != nil {
			return err
		}
	}
	waiting := slices.Clone(c.pool)
	if err := c.mine(); err != nil {
		return err
	}
	for _, tx := range waiting {
		if _, mined := c.index[tx.Hash()]; !mined {
			return fmt.Errorf("the transaction %v cannot be executed in block %v", tx.Hash(), c.head().Number)
		}
	}
	return nil
}

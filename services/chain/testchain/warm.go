package testchain

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// mines and writes are the calls that need the state: those that make a block of what waits, and those that
// write to an account.
var (
	mines  = []string{submit, "evm_mine", mineSpaced, "hardhat_mine", "anvil_setAutomine"}
	writes = []string{"anvil_setBalance", addBalance, "anvil_setCode", "anvil_setNonce", "anvil_setStorageAt"}
)

// warm reads of the node that is forked what a call will need, before the call takes the lock: others read
// meanwhile what is known here. What it misses the call itself reads. The error is that the other node does
// not answer. On a chain that is no fork it does nothing.
func (c *Chain) warm(a *asking, method string, params json.RawMessage) error {
	switch {
	case slices.Contains(mines, method):
		return c.warmBlock(a, method == submit, params)
	case slices.Contains(writes, method):
		return c.warmAccount(a, params)
	}
	return nil
}

// warmAccount reads the account that a call writes to, and its slot if the call names one.
func (c *Chain) warmAccount(a *asking, params json.RawMessage) error {
	var of common.Address
	var second, third json.RawMessage
	if jsonrpc.Params(params, 2, &of, &second, &third) != nil {
		return nil // the call says what is wrong
	}
	c.mu.RLock()
	fork, root, states := c.origin != nil, c.root, c.states
	c.mu.RUnlock()
	if !fork {
		return nil
	}
	db, err := gethstate.New(root, states.by(a))
	if err != nil {
		return err
	}
	db.GetNonce(of)
	var slot quantity
	if third != nil && json.Unmarshal(second, &slot) == nil {
		db.GetState(of, common.BigToHash(&slot.Int))
	}
	return db.Error()
}

// warmBlock executes what the next block will have, with the transaction of a record, and throws it away.
func (c *Chain) warmBlock(a *asking, submitted bool, params json.RawMessage) error {
	c.mu.RLock()
	if c.origin == nil {
		c.mu.RUnlock()
		return nil
	}
	k := c.clock
	header, err := c.header(k.next(clockNow()))
	db, failed := gethstate.New(c.root, c.states.by(a))
	parent, pool, known, made := c.head(), slices.Clone(c.pool), c.signatures, !submitted || c.automines()
	c.mu.RUnlock()
	if err != nil || failed != nil {
		return nil // the call says what is wrong
	}
	if submitted {
		tx, err := decoded(params)
		if err != nil {
			return nil
		}
		pool = append(pool, tx)
	}
	if !made { // the transaction only waits
		db.GetBalance(c.sender(pool[len(pool)-1]))
		return db.Error()
	}
	b := c.executor.BuildTest(parent, header, db, elders{c, a}, known, nil)
	defer b.Abandon()
	for _, tx := range pool {
		if a.ctx.Err() != nil || db.Error() != nil {
			break
		}
		_ = b.Add(tx) // it may be of a later block
	}
	return db.Error()
}

// elders are ancestors for what is executed without the lock.
type elders struct {
	c      *Chain
	asking *asking
}

// Header implements execution.Ancestors.
func (e elders) Header(n uint64) *types.Header {
	if block := e.Block(n); block != nil {
		return block.Header()
	}
	e.c.mu.RLock()
	o := e.c.origin
	e.c.mu.RUnlock()
	if o == nil || n >= o.number {
		return nil
	}
	header, _ := o.ancestor(e.asking, n) // the call reads it again, and reports why it cannot
	return header
}

// Block implements execution.Ancestors.
func (e elders) Block(n uint64) *types.Block {
	e.c.mu.RLock()
	defer e.c.mu.RUnlock()
	return ancestors{e.c}.Block(n)
}

var _ execution.Ancestors = elders{}

// warmAhead is warm for the draft of the next block, after each call that changed the chain: one goroutine
// reads, and the others wait for it.
func (c *Chain) warmAhead(ctx context.Context) error {
	a := &c.ahead
	a.warming.Lock()
	defer a.warming.Unlock()
	c.mu.RLock()
	version := c.version
	c.mu.RUnlock()
	if a.warm == version+1 {
		return nil
	}
	err := c.warmBlock(newAsking(ctx), false, nil)
	if err == nil {
		a.warm = version + 1
	}
	return err
}

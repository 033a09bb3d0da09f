package testchain

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/limiter"
)

// mines and writes are the calls that need the state: those that make a block of what waits, and those that
// write to an account.
var (
	mines  = []string{submit, "evm_mine", mineSpaced, "hardhat_mine", setAutomine}
	writes = []string{"anvil_setBalance", addBalance, "anvil_setCode", "anvil_setNonce", "anvil_setStorageAt"}
)

// warm reads of the node that is forked what a call will need, before the call takes the lock: others read
// meanwhile what is known here. What it misses the call itself reads. The error is that the other node does
// not answer. On a chain that is no fork it does nothing.
func (c *Chain) warm(a *asking, method string, params json.RawMessage) error {
	switch {
	case slices.Contains(mines, method):
		return c.warmBlock(a, method, params)
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

// warmBlock executes what the next block will have, and throws it away, if the call will make one.
func (c *Chain) warmBlock(a *asking, method string, params json.RawMessage) error {
	c.mu.RLock()
	if c.origin == nil {
		c.mu.RUnlock()
		return nil
	}
	k := c.clock
	header, err := c.header(k.next(clockNow()))
	db, failed := gethstate.New(c.root, c.states.by(a))
	parent, pool, known := c.head(), slices.Clone(c.pool), c.signatures
	c.mu.RUnlock()
	if err != nil || failed != nil {
		return nil // the call says what is wrong
	}
	makes := true
	switch method {
	case submit:
		pool, makes = c.warmSubmitted(db, params)
	case setAutomine:
		var on bool
		if jsonrpc.Params(params, 1, &on) != nil || !on {
			return nil
		}
		executable, _ := c.content(db, pool)
		makes = len(executable) > 0
	}
	if !makes {
		return db.Error()
	}
	below := &unlockedAncestors{c: c, asking: a}
	b := c.executor.BuildTest(parent, header, db, below, known, nil)
	defer b.Abandon()
	for _, tx := range pool {
		if a.ctx.Err() != nil || db.Error() != nil || below.missed != nil {
			break
		}
		_ = b.Add(tx) // it may be of a later block
	}
	return cmp.Or(db.Error(), below.missed, a.ctx.Err())
}

// warmSubmitted reads the account of the transaction of a record, and returns what waits with it, if the call
// makes a block.
func (c *Chain) warmSubmitted(db *gethstate.StateDB, params json.RawMessage) (pool []*types.Transaction, makes bool) {
	tx, err := decoded(params)
	if err != nil {
		return nil, false
	}
	from := c.sender(tx)
	if db.GetBalance(from); db.Error() != nil { // judge finds it read, under the lock
		return nil, false
	}
	c.mu.RLock()
	replaced, err := c.judge(db, tx, int(tx.Size()))
	pool, makes = slices.Clone(c.pool), c.automines()
	c.mu.RUnlock()
	switch {
	case err != nil || !makes: // the call says what is wrong, or has it wait
		return nil, false
	case replaced >= 0:
		pool[replaced] = tx
	default:
		pool = append(pool, tx)
	}
	return pool, tx.Nonce() < c.nonce(db, pool, from)
}

// unlockedAncestors are ancestors for what is executed without the lock.
type unlockedAncestors struct {
	c      *Chain
	asking *asking
	missed error // why a block of another node could not be read
}

// Header implements execution.Ancestors.
func (u *unlockedAncestors) Header(n uint64) *types.Header {
	if block := u.Block(n); block != nil {
		return block.Header()
	}
	u.c.mu.RLock()
	o := u.c.origin
	u.c.mu.RUnlock()
	if o == nil || n >= o.number {
		return nil
	}
	header, err := o.ancestor(u.asking, n)
	u.missed = cmp.Or(u.missed, err)
	return header
}

// Block implements execution.Ancestors.
func (u *unlockedAncestors) Block(n uint64) *types.Block {
	u.c.mu.RLock()
	defer u.c.mu.RUnlock()
	return ancestors{u.c}.Block(n)
}

var _ execution.Ancestors = (*unlockedAncestors)(nil)

// warmAhead is warm for the draft of the next block, after each call that changed the chain: one goroutine
// reads, and the others wait for it.
func (c *Chain) warmAhead(ctx context.Context) error {
	a := &c.ahead
	resume := limiter.Pause(ctx)
	select {
	case a.warming <- struct{}{}:
		resume()
		defer func() { <-a.warming }()
	case <-ctx.Done():
		resume()
		return ctx.Err()
	}
	c.mu.RLock()
	version := c.version
	c.mu.RUnlock()
	if a.warm == version+1 {
		return nil
	}
	err := c.warmBlock(newAsking(ctx), "", nil)
	if err == nil {
		a.warm = version + 1
	}
	return err
}

package testchain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/store"
)

// View is the chain for a call, with what may be asked of the node that is forked for it.
type View struct {
	*Chain
	asking *asking
}

// Within returns the chain for a call. At the end of the context nothing is asked for it.
func (c *Chain) Within(ctx context.Context) *View { return &View{c, newAsking(ctx)} }

// always is the chain for what is no call.
func (c *Chain) always() *View { return c.Within(context.Background()) }

// Block implements api.Blocks.
func (c *Chain) Block(number uint64) (*types.Block, error) { return c.always().Block(number) }

// RawBlock implements api.Blocks.
func (c *Chain) RawBlock(number uint64) ([]byte, error) { return c.always().RawBlock(number) }

// Header implements api.Blocks.
func (c *Chain) Header(number uint64) (*types.Header, error) { return c.always().Header(number) }

// Receipts implements api.Blocks.
func (c *Chain) Receipts(number uint64) (types.Receipts, error) { return c.always().Receipts(number) }

// Number implements api.Blocks.
func (c *Chain) Number(hash common.Hash) (uint64, error) { return c.always().Number(hash) }

// Transaction implements api.Blocks.
func (c *Chain) Transaction(hash common.Hash) (number uint64, index uint32, err error) {
	return c.always().Transaction(hash)
}

// StateAt implements api.States.
func (c *Chain) StateAt(header *types.Header) (*gethstate.StateDB, error) {
	return c.always().StateAt(header)
}

// at returns a block; store.ErrNotFound if there is none.
func (v *View) at(number uint64) (*sealed, error) {
	v.mu.RLock()
	s, origin := v.here(number), v.origin
	v.mu.RUnlock()
	switch {
	case s != nil:
		return s, nil
	case origin != nil && number < origin.number:
		return origin.block(v.asking, number)
	}
	return nil, noBlock(number)
}

// Block implements api.Blocks.
func (v *View) Block(number uint64) (*types.Block, error) {
	s, err := v.at(number)
	if err != nil {
		return nil, err
	}
	return s.block, nil
}

// RawBlock implements api.Blocks.
func (v *View) RawBlock(number uint64) ([]byte, error) {
	s, err := v.at(number)
	if err != nil {
		return nil, err
	}
	return rlp.EncodeToBytes(s.block)
}

// Header implements api.Blocks.
func (v *View) Header(number uint64) (*types.Header, error) {
	v.mu.RLock()
	s, origin := v.here(number), v.origin
	v.mu.RUnlock()
	if s == nil && origin != nil && number < origin.number {
		header, err := origin.header(v.asking, number)
		if err != nil {
			return nil, err
		}
		return types.CopyHeader(header), nil
	}
	if s == nil {
		return nil, noBlock(number)
	}
	return s.block.Header(), nil
}

// Receipts implements api.Blocks.
func (v *View) Receipts(number uint64) (types.Receipts, error) {
	s, err := v.at(number)
	if err != nil {
		return nil, err
	}
	return store.Clone(s.receipts), nil
}

// Number implements api.Blocks.
func (v *View) Number(hash common.Hash) (uint64, error) {
	v.mu.RLock()
	n, ok := v.byHash[hash]
	origin := v.origin
	v.mu.RUnlock()
	switch {
	case ok:
		return n, nil
	case origin == nil:
		return 0, store.ErrNotFound
	}
	n, err := origin.upstream().numberOf(v.asking, hash)
	if err == nil && n >= origin.number {
		err = store.ErrNotFound
	}
	return n, err
}

// Transaction implements api.Blocks.
func (v *View) Transaction(hash common.Hash) (number uint64, index uint32, err error) {
	v.mu.RLock()
	at, ok := v.index[hash]
	origin, waits := v.origin, v.waiting(hash) != nil
	v.mu.RUnlock()
	switch {
	case ok:
	case origin == nil || waits:
		err = store.ErrNotFound
	default:
		at, err = origin.before(v.asking, hash)
	}
	return at.number, at.index, err
}

// StateAt implements api.States. After the last block it has what was written since.
func (v *View) StateAt(header *types.Header) (*gethstate.StateDB, error) {
	v.mu.RLock()
	n, ok := v.byHash[header.Hash()]
	if !ok {
		states := v.states
		v.mu.RUnlock()
		if o := states.origin; o != nil && header.Number.Uint64() < o.number {
			return states.before(v.asking, header)
		}
		return nil, fmt.Errorf("block %d was taken back", header.Number)
	}
	root, states := v.here(n).root, v.states
	v.mu.RUnlock()
	return gethstate.New(root, states.by(v.asking))
}

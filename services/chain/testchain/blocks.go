package testchain

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/node"
	"dyno/services/chain/store"
)

func clockNow() time.Time { return time.Now() }

// append makes a block the last one. Its state is c.root.
func (c *Chain) append(block *types.Block, receipts types.Receipts) {
	c.add(&sealed{block, receipts, c.root})
	c.work++
	c.turn()
}

// add adds a block with what was computed of it.
func (c *Chain) add(s *sealed) {
	n := s.block.NumberU64()
	c.blocks = append(c.blocks, s)
	c.byHash[s.block.Hash()] = n
	for i, tx := range s.block.Transactions() {
		c.index[tx.Hash()] = place{n, uint32(i)}
	}
}

// turn wakes those who follow the blocks, of which another one is the last.
func (c *Chain) turn() {
	c.shown = c.now
	close(c.grown)
	c.grown = make(chan struct{})
}

// truncate takes back the blocks from a number on.
func (c *Chain) truncate(count int) {
	for _, s := range c.blocks[count:] {
		delete(c.byHash, s.block.Hash())
		for _, tx := range s.block.Transactions() {
			delete(c.index, tx.Hash())
		}
	}
	clear(c.blocks[count:])
	c.blocks = c.blocks[:count]
}

// at returns a block; store.ErrNotFound if there is none.
func (c *Chain) at(number uint64) (*sealed, error) {
	c.mu.RLock()
	s, origin := c.here(number), c.origin
	c.mu.RUnlock()
	switch {
	case s != nil:
		return s, nil
	case origin != nil && number < origin.number:
		return origin.block(newAsking(context.Background()), number)
	}
	return nil, noBlock(number)
}

func noBlock(number uint64) error { return fmt.Errorf("block %d: %w", number, store.ErrNotFound) }

// here returns a block of those that were made here, or the first; nil: it is none of them.
func (c *Chain) here(number uint64) *sealed {
	if base := c.base(); number >= base && number-base < uint64(len(c.blocks)) {
		return c.blocks[number-base]
	}
	return nil
}

// Block implements api.Blocks.
func (c *Chain) Block(number uint64) (*types.Block, error) {
	s, err := c.at(number)
	if err != nil {
		return nil, err
	}
	return s.block, nil
}

// RawBlock implements api.Blocks.
func (c *Chain) RawBlock(number uint64) ([]byte, error) {
	s, err := c.at(number)
	if err != nil {
		return nil, err
	}
	return rlp.EncodeToBytes(s.block)
}

// Header implements api.Blocks.
func (c *Chain) Header(number uint64) (*types.Header, error) {
	c.mu.RLock()
	s, origin := c.here(number), c.origin
	c.mu.RUnlock()
	if s == nil && origin != nil && number < origin.number {
		header, err := origin.header(newAsking(context.Background()), number)
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
func (c *Chain) Receipts(number uint64) (types.Receipts, error) {
	s, err := c.at(number)
	if err != nil {
		return nil, err
	}
	return store.Clone(s.receipts), nil
}

// Number implements api.Blocks.
func (c *Chain) Number(hash common.Hash) (uint64, error) {
	c.mu.RLock()
	n, ok := c.byHash[hash]
	origin := c.origin
	c.mu.RUnlock()
	switch {
	case ok:
		return n, nil
	case origin == nil:
		return 0, store.ErrNotFound
	}
	n, err := origin.upstream().numberOf(newAsking(context.Background()), hash)
	if err == nil && n >= origin.number {
		err = store.ErrNotFound
	}
	return n, err
}

// Transaction implements api.Blocks.
func (c *Chain) Transaction(hash common.Hash) (number uint64, index uint32, err error) {
	c.mu.RLock()
	at, ok := c.index[hash]
	origin, waits := c.origin, c.waiting(hash) != nil
	c.mu.RUnlock()
	switch {
	case ok:
	case origin == nil || waits:
		err = store.ErrNotFound
	default:
		at, err = origin.before(newAsking(context.Background()), hash)
	}
	return at.number, at.index, err
}

// Head implements api.States.
func (c *Chain) Head() *types.Header {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.head()
}

// StateAt implements api.States. After the last block it has what was written since.
func (c *Chain) StateAt(header *types.Header) (*gethstate.StateDB, error) {
	c.mu.RLock()
	n, ok := c.byHash[header.Hash()]
	if !ok {
		states := c.states
		c.mu.RUnlock()
		if o := states.origin; o != nil && header.Number.Uint64() < o.number {
			return states.before(header)
		}
		return nil, fmt.Errorf("block %d was taken back", header.Number)
	}
	root, states := c.here(n).root, c.states
	c.mu.RUnlock()
	return gethstate.New(root, states)
}

// Kept implements api.States. What another node has of the blocks before a fork is its own.
func (c *Chain) Kept() (oldest, window uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.base(), 0
}

// Grown implements api.Feed.
func (c *Chain) Grown(number uint64) <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.head().Number.Uint64() > number {
		return past
	}
	return c.grown
}

// past is a channel that is closed.
var past = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Accepted implements api.Feed.
func (c *Chain) Accepted(from uint64, most int) node.Accepted {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := uint64(len(c.accepted))
	from = min(from, all)
	to := min(all, from+uint64(most))
	out := node.Accepted{From: from, Hashes: append([]common.Hash(nil), c.accepted[from:to]...), More: c.more}
	if to < all {
		out.More = past
	}
	return out
}

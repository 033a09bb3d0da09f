package testchain

import (
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

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

func noBlock(number uint64) error { return fmt.Errorf("block %d: %w", number, store.ErrNotFound) }

// here returns a block of those that were made here, or the first; nil: it is none of them.
func (c *Chain) here(number uint64) *sealed {
	if base := c.base(); number >= base && number-base < uint64(len(c.blocks)) {
		return c.blocks[number-base]
	}
	return nil
}

// Head implements api.States.
func (c *Chain) Head() *types.Header {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.head()
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

package testchain

import (
	"math"
	"slices"

	"dyno/services/chain/node"
)

// Bounds of what is remembered for those who follow the chain and did not ask meanwhile.
const (
	mostReverts = 1024
	mostLogs    = 10_000
)

// reverts are the times that blocks were taken back since the start.
type reverts struct {
	times  int
	lowest uint64 // last block that one of those left which are forgotten
	last   []node.Taken
	logs   int // of all of them
}

// takeBack takes back the blocks from a number on, and remembers it.
func (c *Chain) takeBack(from int) {
	gone := slices.Clone(c.blocks[from:])
	c.truncate(from)
	c.gone += len(gone)
	c.reverts.add(c.base()+uint64(from-1), gone)
	c.turn()
}

// begin remembers that the chain has begun again, with a block of a number, and without others.
func (r *reverts) begin(first uint64, gone []*sealed) {
	r.add(first, gone)
	r.last[len(r.last)-1].Begins = true
}

// add remembers blocks that were taken back, and which block is the last one then. Of those that are
// too many, and of the oldest, the logs are forgotten, and then the times.
func (r *reverts) add(last uint64, gone []*sealed) {
	t := node.Taken{Last: last}
	for _, s := range slices.Backward(gone) {
		for _, receipt := range slices.Backward(s.receipts) {
			for _, log := range slices.Backward(receipt.Logs) {
				if len(t.Logs) < mostLogs {
					own := *log
					own.BlockHash, own.Removed = s.block.Hash(), true
					t.Logs = append(t.Logs, &own)
				}
			}
		}
	}
	r.times++
	r.last = append(r.last, t)
	r.logs += len(t.Logs)
	for i := 0; r.logs > mostLogs; i++ {
		r.logs -= len(r.last[i].Logs)
		r.last[i].Logs = nil
	}
	if len(r.last) > mostReverts {
		if r.times == len(r.last) {
			r.lowest = math.MaxUint64
		}
		r.logs -= len(r.last[0].Logs)
		r.lowest = min(r.lowest, r.last[0].Last)
		r.last = slices.Delete(r.last, 0, 1)
	}
}

// Reverted implements api.Reverting.
func (c *Chain) Reverted(since int) (times int, taken []node.Taken) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r := &c.reverts
	missed := r.times - since
	if missed > len(r.last) {
		taken = append(taken, node.Taken{Last: r.lowest})
	}
	return r.times, append(taken, r.last[len(r.last)-min(missed, len(r.last)):]...)
}

package node

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/mempool"
)

// keptHashes is the number of the last accepted transactions that a follower can still ask for.
const keptHashes = 1 << 13

// feed wakes those that follow the chain, and remembers the last accepted transactions for them.
type feed struct {
	mu       sync.Mutex
	grown    chan struct{} // closed by the next block
	more     chan struct{} // closed by the next accepted transactions
	hashes   [keptHashes]common.Hash
	accepted uint64 // in all; the last is at accepted-1, modulo the size
}

func (f *feed) init() { f.grown, f.more = make(chan struct{}), make(chan struct{}) }

func (f *feed) grow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.grown)
	f.grown = make(chan struct{})
}

func (f *feed) accept(entries []*mempool.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		f.hashes[f.accepted%keptHashes] = e.Tx.Hash()
		f.accepted++
	}
	close(f.more)
	f.more = make(chan struct{})
}

// past is a channel that is closed.
var past = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Grown returns a channel that is closed once there is a block after the given number. It is closed
// already if there is one.
func (n *Node) Grown(number uint64) <-chan struct{} {
	n.feed.mu.Lock()
	defer n.feed.mu.Unlock()
	if n.chain.Head().Number.Uint64() > number {
		return past
	}
	return n.feed.grown
}

// Accepted is a part of the sequence of accepted transactions. Where it begins later than was asked
// for, the hashes between are no longer kept.
type Accepted struct {
	From   uint64 // position of the first of Hashes, or where the next will be
	Hashes []common.Hash
	More   <-chan struct{} // closed once there are more after Hashes
}

// Taken is a time that blocks of a test chain were taken back.
type Taken struct {
	Last uint64 // the last block from then on
	// Begins says that the chain began again with that block, so that a follower has seen none behind it.
	Begins bool
	// Logs are those of the blocks that were taken back, the newest first, and marked as removed. Of
	// very many, and of long ago, they are not kept.
	Logs []*types.Log
}

// Accepted returns at most a number of hashes of accepted transactions, in their order, from the
// given position on, which is the sum of all that were accepted before. A position beyond the last
// means the present.
func (n *Node) Accepted(from uint64, most int) Accepted {
	f := &n.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	from = min(from, f.accepted)
	if f.accepted > keptHashes {
		from = max(from, f.accepted-keptHashes)
	}
	to := f.accepted
	out := Accepted{From: from, More: f.more}
	if to-from > uint64(most) {
		to, out.More = from+uint64(most), past
	}
	for at := from; at < to; at++ {
		out.Hashes = append(out.Hashes, f.hashes[at%keptHashes])
	}
	return out
}

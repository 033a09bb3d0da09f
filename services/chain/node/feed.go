package node

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/api"
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

// Grown implements api.Feed.
func (n *Node) Grown(number uint64) <-chan struct{} {
	n.feed.mu.Lock()
	defer n.feed.mu.Unlock()
	if n.chain.Head().Number.Uint64() > number {
		return past
	}
	return n.feed.grown
}

// Accepted implements api.Feed.
func (n *Node) Accepted(from uint64, most int) api.Accepted {
	f := &n.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	from = min(from, f.accepted)
	if f.accepted > keptHashes {
		from = max(from, f.accepted-keptHashes)
	}
	to := f.accepted
	out := api.Accepted{From: from, More: f.more}
	if to-from > uint64(most) {
		to, out.More = from+uint64(most), past
	}
	for at := from; at < to; at++ {
		out.Hashes = append(out.Hashes, f.hashes[at%keptHashes])
	}
	return out
}

// Package mempool holds the transactions that were accepted and are in no block yet, and chooses
// those of the next block. Its rules are those of nonces, balances, limits, replacement and
// eviction.
//
// An entry is added before it is durable, and waits until Confirm says that it is. Each sender's
// entries are sealed in the order of their nonces: the first that is in no block yet is offered to
// the index, if it is confirmed.
//
// It is not for what needs no state (the form, the signature), for durability, nor for executing.
// It starts no goroutines. No lock is held for longer than a few microseconds, and the time that
// the account takes to read when a sender's first entry is added.
package mempool

import (
	"math/big"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// Account is a sender's account after the head.
type Account struct {
	Nonce   uint64
	Balance *uint256.Int // wei; not changed by the pool
}

// Options bound the pool.
type Options struct {
	Transactions int64
	Bytes        int64 // of all transactions
}

// Bounds of one sender, and the number of times that an entry is tried in vain.
const (
	maxOfSender = 1024 // entries, and also how far a nonce may be ahead of the account's
	maxFailures = 10   // with a wait of 1, 2, 4, .. 256 blocks after each but the last
)

// shards is the number of locks for senders: many times the number of cores.
const shards = 256

// Pool holds entries. Its methods may be called from any goroutine; those that seal (Next, Failed,
// Release, Sealed) from one at a time.
type Pool struct {
	index   *index
	options Options
	account func(common.Address) (Account, error)
	ready   chan struct{}

	arrivals     atomic.Uint64
	transactions atomic.Int64
	bytes        atomic.Int64
	changes      atomic.Uint64 // of what Pending returns

	// mu is held for writing by what concerns more than one sender, and otherwise for reading,
	// together with the lock of the sender's shard.
	mu     sync.RWMutex
	shards [shards]shard

	queue queue // entries behind a nonce gap

	// Used only with mu held for writing.
	round   []*Entry // taken since the last Sealed or Release
	blocked map[*sender]struct{}
	blocks  uint64 // calls of Sealed
}

// shard is the senders whose addresses end in the same byte.
type shard struct {
	mu      sync.Mutex
	senders map[common.Address]*sender
}

// New returns an empty pool. Account reads a sender's account after the head; it is called with
// locks held, and must not call the pool.
func New(o Options, account func(common.Address) (Account, error)) *Pool {
	p := &Pool{index: newIndex(), options: o, account: account, ready: make(chan struct{}, 1), blocked: map[*sender]struct{}{}}
	for i := range p.shards {
		p.shards[i].senders = map[common.Address]*sender{}
	}
	return p
}

// Ready receives a value when there may be something to seal that was not there before.
func (p *Pool) Ready() <-chan struct{} { return p.ready }

func (p *Pool) signal() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// lock locks a sender's shard. The caller unlocks it, and mu for reading.
func (p *Pool) lock(from common.Address) *shard {
	p.mu.RLock()
	s := p.shardOf(from)
	s.mu.Lock()
	return s
}

func (p *Pool) shardOf(from common.Address) *shard { return &p.shards[from[common.AddressLength-1]] }

func (p *Pool) unlock(s *shard) {
	s.mu.Unlock()
	p.mu.RUnlock()
}

// Confirm makes entries executable, after they have become durable. Entries that are no longer
// there are ignored.
func (p *Pool) Confirm(entries ...*Entry) {
	defer p.changes.Add(1)
	for _, e := range entries {
		shard := p.lock(e.From)
		if s := shard.senders[e.From]; s != nil {
			p.confirm(s, e)
			if s.offered != nil {
				p.signal() // also for one behind another of its sender: a block may be due when enough wait
			}
		}
		p.unlock(shard)
	}
}

// Withdraw removes entries that could not be made durable. What they replaced waits again; entries
// with higher nonces stay, behind a gap.
func (p *Pool) Withdraw(entries ...*Entry) {
	for _, e := range entries {
		shard := p.lock(e.From)
		if s := shard.senders[e.From]; s != nil {
			p.withdraw(s, e)
			p.forget(e.From, s)
		}
		p.unlock(shard)
	}
}

// Get returns the entry of a transaction's hash, confirmed or not, or nil.
func (p *Pool) Get(hash common.Hash) *Entry { return p.index.get(hash) }

// Nonce returns the first nonce of a sender that is free: neither used in a block, nor by an entry
// that follows without a gap. It is false if the sender has no entries.
func (p *Pool) Nonce(from common.Address) (uint64, bool) {
	shard := p.lock(from)
	defer p.unlock(shard)
	if s := shard.senders[from]; s != nil {
		return s.gap, true
	}
	return 0, false
}

// Stats are figures of the pool.
type Stats struct {
	Executable int   // entries without a gap before them
	Queued     int   // entries behind a gap
	Bytes      int64 // of all
	// Offered is the number of senders whose next entry can be sealed in the next block, should its
	// base fee and gas permit.
	Offered int
}

// Stats returns figures, which changes during the call may miss.
func (p *Pool) Stats() Stats {
	queued := p.queue.len()
	return Stats{
		Executable: max(0, int(p.transactions.Load())-queued), Queued: queued,
		Bytes: p.bytes.Load(), Offered: p.index.offered(),
	}
}

// Entries returns all entries, also those that a block being sealed has taken: each sender's in the
// order of nonces, with a replaced one before the one that replaces it and is not durable yet.
func (p *Pool) Entries() []*Entry {
	out := make([]*Entry, 0, p.transactions.Load())
	for i := range p.shards {
		p.mu.RLock()
		p.shards[i].mu.Lock()
		for _, s := range p.shards[i].senders {
			out = s.append(out)
		}
		p.unlock(&p.shards[i])
	}
	return out
}

// Next takes entries for a block: those with the highest effective tips first, each sender's in the
// order of nonces, at most max of them, with at most gas in sum. They stay in the pool until the
// round ends by Sealed or Release; in one round Next may be called repeatedly. Base is the block's
// base fee, and nil for a block without one.
func (p *Pool) Next(base *big.Int, gas uint64, max int) []*Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, misfits := len(p.round), 0
	p.index.walk(feeOf(base), func(e *Entry) (verdict, *Entry) {
		if len(p.round)-first >= max || gas < params.TxGas || misfits > maxMisfits {
			return stop, nil
		}
		if e.Tx.Gas() > gas {
			misfits++
			return keep, nil
		}
		gas -= e.Tx.Gas()
		p.round = append(p.round, e)
		return take, p.take(e)
	})
	return slices.Clone(p.round[first:])
}

// maxMisfits bounds the search for entries with little gas when a block is almost full.
const maxMisfits = 100

func feeOf(base *big.Int) *uint256.Int {
	if base == nil {
		return new(uint256.Int)
	}
	return uint256.MustFromBig(base)
}

package mempool

import (
	"container/heap"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Pending returns the transactions that the next blocks take, in the order in which Next would give
// them, at most a number of them: first those that the block which is being sealed has. It takes
// none. Base is the base fee of the next block, nil for one without. Changes is what Changes
// returned at that moment.
func (p *Pool) Pending(base *big.Int, most int) (txs types.Transactions, changes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.round {
		if len(txs) < most && p.stateOf(e) == taken {
			txs = append(txs, e.Tx)
		}
	}
	order, fee := p.copies(feeOf(base)), feeOf(base)
	for len(order) > 0 && len(txs) < most {
		e := order.first()
		if e.unpaid {
			break
		}
		order.pop()
		txs = append(txs, e.Tx)
		if next := p.shardOf(e.From).senders[e.From].slots[e.Tx.Nonce()+1].durable(); next != nil {
			order.push(copied(next, fee))
		}
	}
	return txs, p.changes.Load()
}

// Changes is a number that grows whenever Pending may return other transactions than before, beside
// those that Sealed removes.
func (p *Pool) Changes() uint64 { return p.changes.Load() }

// copies are the entries that each sender has next, rated for a walk of their own. The caller holds
// mu for writing.
func (p *Pool) copies(fee *uint256.Int) fees {
	var order fees
	for i := range p.shards {
		for _, s := range p.shards[i].senders {
			if next := s.slots[s.next].durable(); next != nil && s.until <= p.blocks {
				e := copied(next, fee)
				e.place = len(order)
				order = append(order, e)
			}
		}
	}
	heap.Init(&order)
	return order
}

func copied(e *Entry, fee *uint256.Int) *Entry {
	c := *e
	c.rate(fee)
	return &c
}

// stateOf is how far an entry has come. The caller holds mu for writing.
func (p *Pool) stateOf(e *Entry) state {
	if s := p.shardOf(e.From).senders[e.From]; s != nil {
		if slot := s.slots[e.Tx.Nonce()].find(e); slot != nil {
			return slot.state
		}
	}
	return added
}

// Accepted returns the nonce after the entries of a sender that are durable and follow each other
// without a gap; false: it has no entries.
func (p *Pool) Accepted(from common.Address) (uint64, bool) {
	shard := p.lock(from)
	defer p.unlock(shard)
	s := shard.senders[from]
	if s == nil {
		return 0, false
	}
	nonce := s.next
	for s.slots[nonce].durable() != nil {
		nonce++
	}
	return nonce, true
}

// Content returns the transactions that are durable, by sender, each sender's in the order of nonces:
// those that the next blocks take, and those behind a gap.
func (p *Pool) Content() (executable, queued map[common.Address]types.Transactions) {
	executable, queued = map[common.Address]types.Transactions{}, map[common.Address]types.Transactions{}
	for i := range p.shards {
		p.mu.RLock()
		p.shards[i].mu.Lock()
		for from, s := range p.shards[i].senders {
			for _, nonce := range slices.Sorted(maps.Keys(s.slots)) {
				into := executable
				if nonce >= s.gap {
					into = queued
				}
				if e := s.slots[nonce].durable(); e != nil {
					into[from] = append(into[from], e.Tx)
				}
			}
		}
		p.unlock(&p.shards[i])
	}
	return executable, queued
}

// durable returns the newest entry of a nonce that is durable; nil: none is. One that replaces it
// may not be yet.
func (o *slot) durable() *Entry {
	for version := o; version != nil; version = version.replaced {
		if version.state != added {
			return version.entry
		}
	}
	return nil
}

package mempool

import (
	"log/slog"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// take marks an entry as taken, and returns the one that the sender has next, if it can be sealed.
// The caller holds mu for writing.
func (p *Pool) take(e *Entry) *Entry {
	s := p.shardOf(e.From).senders[e.From]
	s.slots[s.next].state = taken
	s.next++
	s.offered = nil
	if slot := s.slots[s.next]; slot != nil && slot.state == confirmed {
		s.offered = slot.entry
	}
	return s.offered
}

// Sealed removes the transactions of a block that has become the head, whether Next gave them or
// not, and ends the round: what Next gave and the block does not have waits again. After reads an
// account after the block; nil: as the pool does.
func (p *Pool) Sealed(mined []*Entry, after func(common.Address) (Account, error)) {
	if after == nil {
		after = p.account
	}
	p.mu.RLock()
	block := p.blocks + 1
	p.mu.RUnlock()
	for _, e := range mined {
		p.refresh(e.From, block, after)
		if e.Tx.Type() != types.SetCodeTxType {
			continue
		}
		for _, authority := range e.Tx.SetCodeAuthorities() { // whose nonces it may have used, too
			p.refresh(authority, block, after)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks = block
	p.release()
	for s := range p.blocked {
		if s.until <= p.blocks {
			delete(p.blocked, s)
			p.settle(s)
		}
	}
}

// refresh reads the account of a sender again, once a block.
func (p *Pool) refresh(from common.Address, block uint64, after func(common.Address) (Account, error)) {
	shard := p.lock(from)
	defer p.unlock(shard)
	s := shard.senders[from]
	if s == nil || s.read == block {
		return
	}
	s.read = block
	account, err := after(from)
	if err != nil {
		// What is behind the nonce fails when it is executed, or the disk does before.
		slog.Error("the account of a sender cannot be read", "sender", from, "error", err)
		return
	}
	p.advance(s, account)
	p.forget(from, s)
}

// Release ends a round without a block: what Next gave waits again.
func (p *Pool) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

func (p *Pool) release() {
	for _, e := range p.round {
		s := p.shardOf(e.From).senders[e.From]
		if s == nil {
			continue
		}
		if slot := s.slots[e.Tx.Nonce()]; slot != nil && slot.entry == e && slot.state == taken {
			p.giveBack(s, slot)
		}
	}
	clear(p.round)
	p.round = p.round[:0]
}

// giveBack makes a slot that was taken wait again.
func (p *Pool) giveBack(s *sender, taken *slot) {
	taken.state = confirmed
	s.next = min(s.next, taken.entry.Tx.Nonce())
	p.settle(s)
}

// Failed says that an entry, which Next gave, could not be executed. It is removed if its nonce was
// used meanwhile. Otherwise its sender has to wait, for longer after each failure, and after the
// tenth the entry is removed. So it neither stops other senders nor is tried in every block.
func (p *Pool) Failed(e *Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes.Add(1)
	s := p.shardOf(e.From).senders[e.From]
	if s == nil {
		return
	}
	defer p.forget(e.From, s)
	account, err := p.account(e.From)
	if err == nil {
		p.advance(s, account)
	}
	nonce := e.Tx.Nonce()
	slot := s.slots[nonce]
	if slot == nil || slot.entry != e {
		slog.Warn("a transaction was dropped: its nonce was used by another one", "hash", e.Tx.Hash(), "sender", e.From, "nonce", nonce)
		return
	}
	if slot.state != taken {
		return
	}
	if s.until <= p.blocks { // otherwise the one before it has failed
		s.failures++
		s.until = p.blocks + 1<<(s.failures-1)
		p.blocked[s] = struct{}{}
	}
	p.giveBack(s, slot)
	if s.failures < maxFailures {
		return
	}
	slog.Warn("a transaction was dropped: it could not be executed", "hash", e.Tx.Hash(), "sender", e.From, "nonce", nonce, "attempts", s.failures)
	s.failures, s.until = 0, 0
	p.remove(s, nonce)
	p.settle(s)
}

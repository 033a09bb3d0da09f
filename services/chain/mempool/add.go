package mempool

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/holiman/uint256"
)

// ErrFull is for an entry for which there is no room, and that cannot evict another one.
var ErrFull = errors.New("txpool is full")

// Add adds an entry, which is not executable before Confirm. The errors are go-ethereum's. Base is
// the base fee of the next block: what cannot pay it is refused, for it would take many empty
// blocks until it can.
func (p *Pool) Add(e *Entry, base *big.Int) error {
	if base != nil && e.Tx.GasFeeCapIntCmp(base) < 0 {
		return fmt.Errorf("%w: address %v, maxFeePerGas: %v, baseFee: %v", core.ErrFeeCapTooLow, e.From, e.Tx.GasFeeCap(), base)
	}
	shard := p.lock(e.From)
	err := p.add(shard, e, p.reserve)
	p.unlock(shard)
	if !errors.Is(err, ErrFull) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(shard, e, p.makeRoom)
}

// Restore adds an entry that was accepted before a restart, and is durable. There is room for it,
// and what it may cost was promised then.
func (p *Pool) Restore(e *Entry) error {
	shard := p.lock(e.From)
	defer p.unlock(shard)
	s, err := p.sender(shard, e)
	if err != nil {
		return err
	}
	if err := s.fits(e); err != nil {
		return err
	}
	p.count(e, 1)
	p.insert(shard, s, e)
	p.confirm(s, e)
	return nil
}

// sender returns the sender of an entry, which is new if it has no other entries.
func (p *Pool) sender(shard *shard, e *Entry) (*sender, error) {
	if s := shard.senders[e.From]; s != nil {
		return s, nil
	}
	account, err := p.account(e.From)
	if err != nil {
		return nil, fmt.Errorf("reading the account %v: %w", e.From, err)
	}
	return newSender(account), nil
}

// add judges an entry, lets reserve find room for it, and puts it in its place.
func (p *Pool) add(shard *shard, e *Entry, reserve func(*Entry) error) error {
	s, err := p.sender(shard, e)
	if err != nil {
		return err
	}
	if err := p.judge(s, e); err != nil {
		p.forget(e.From, s) // its account may have advanced
		return err
	}
	if s.slots[e.Tx.Nonce()] != nil {
		p.count(e, 1) // what is replaced leaves as soon as the entry is durable
	} else if err := reserve(e); err != nil {
		return err
	}
	p.insert(shard, s, e)
	return nil
}

// judge holds an entry against its sender's account and other entries. The account is read again
// before an entry is refused for want of ether, or put behind a gap.
func (p *Pool) judge(s *sender, e *Entry) error {
	err := s.judge(e)
	known := len(s.slots) > 0
	if !known || !errors.Is(err, core.ErrInsufficientFunds) && (err != nil || e.Tx.Nonce() <= s.gap) {
		return err
	}
	account, err := p.account(e.From)
	if err != nil {
		return fmt.Errorf("reading the account %v: %w", e.From, err)
	}
	p.advance(s, account)
	return s.judge(e)
}

func (s *sender) judge(e *Entry) error {
	if err := s.fits(e); err != nil {
		return err
	}
	old := s.slots[e.Tx.Nonce()]
	if old == nil && len(s.slots) >= maxOfSender && e.Tx.Nonce()-s.account.Nonce >= maxOfSender {
		return fmt.Errorf("%w: pooled %d txs", txpool.ErrAccountLimitExceeded, len(s.slots))
	}
	return s.affords(e, old)
}

// fits reports why an entry cannot have its nonce.
func (s *sender) fits(e *Entry) error {
	nonce := e.Tx.Nonce()
	if nonce < s.account.Nonce {
		return fmt.Errorf("%w: next nonce %v, tx nonce %v", core.ErrNonceTooLow, s.account.Nonce, nonce)
	}
	if nonce-s.account.Nonce > maxOfSender {
		return fmt.Errorf("%w: next nonce %v, tx nonce %v, which may be at most %d ahead", core.ErrNonceTooHigh, s.account.Nonce, nonce, maxOfSender)
	}
	if old := s.slots[nonce]; old != nil {
		return old.replaceable(e)
	}
	return nil
}

// replaceable reports why an entry cannot replace what is in the slot of its nonce: both fees must
// be higher by a tenth.
func (o *slot) replaceable(e *Entry) error {
	for version := o; version != nil; version = version.replaced {
		if version.entry.Tx.Hash() == e.Tx.Hash() {
			return txpool.ErrAlreadyKnown
		}
	}
	if o.state == taken {
		return fmt.Errorf("%w: nonce %d is being sealed", txpool.ErrReplaceUnderpriced, e.Tx.Nonce())
	}
	if !raises(o.entry.FeeCap(), e.FeeCap()) || !raises(o.entry.TipCap(), e.TipCap()) {
		return txpool.ErrReplaceUnderpriced
	}
	return nil
}

// raises reports whether a fee is higher than an old one, by a tenth, rounded down.
func raises(old, fee *uint256.Int) bool {
	if !fee.Gt(old) {
		return false
	}
	least, overflow := new(uint256.Int).MulDivOverflow(old, uint256.NewInt(110), uint256.NewInt(100))
	return !overflow && !fee.Lt(least)
}

// affords reports why the balance does not pay for the entry together with the sender's others.
func (s *sender) affords(e *Entry, old *slot) error {
	balance := s.account.Balance
	if e.Cost.Gt(balance) {
		return fmt.Errorf("%w: balance %v, tx cost %v, overshot %v", core.ErrInsufficientFunds,
			balance, e.Cost, new(uint256.Int).Sub(e.Cost, balance))
	}
	spent := s.cost
	if old != nil {
		spent.Sub(&spent, old.entry.Cost)
	}
	var need uint256.Int
	if _, overflow := need.AddOverflow(&spent, e.Cost); !overflow && !need.Gt(balance) {
		return nil
	}
	return fmt.Errorf("%w: balance %v, queued cost %v, tx cost %v, overshot %v", core.ErrInsufficientFunds,
		balance, spent.Clone(), e.Cost, new(uint256.Int).Sub(&need, balance))
}

// count counts an entry that comes (1) or goes (-1). It reports whether the pool is within its
// bounds.
func (p *Pool) count(e *Entry, n int64) bool {
	transactions, bytes := p.transactions.Add(n), p.bytes.Add(n*int64(len(e.Raw)))
	return transactions <= p.options.Transactions && bytes <= p.options.Bytes
}

// reserve counts an entry, if there is room for it.
func (p *Pool) reserve(e *Entry) error {
	if p.count(e, 1) {
		return nil
	}
	p.count(e, -1)
	return ErrFull
}

// makeRoom counts an entry, and evicts entries behind a gap that pay less if there is no room for
// it. The caller holds mu for writing.
func (p *Pool) makeRoom(e *Entry) error {
	for p.reserve(e) != nil {
		worst := p.queue.worst()
		if worst == nil {
			return ErrFull
		}
		if !worst.cheaper(e) {
			return txpool.ErrUnderpriced
		}
		victim := worst.entry
		s := p.shardOf(victim.From).senders[victim.From]
		p.remove(s, victim.Tx.Nonce())
		p.forget(victim.From, s)
	}
	return nil
}

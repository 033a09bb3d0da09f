package mempool

import (
	"maps"
	"slices"

	"github.com/holiman/uint256"
)

// sender is an account with entries. It is guarded by the lock of its shard.
type sender struct {
	account Account // as last read
	slots   map[uint64]*slot
	cost    uint256.Int // of the newest entry of each slot

	next    uint64 // the nonce to be sealed next: those below are used or taken
	gap     uint64 // the first nonce without a slot
	offered *Entry // to the index

	failures int    // of the entry that is next, in sequence
	until    uint64 // the number of blocks before which nothing is offered
	read     uint64 // the number of the block after which account was read
}

// slot is a nonce of a sender, with the newest entry that has it.
type slot struct {
	entry    *Entry
	state    state
	replaced *slot // what waits again if the entry cannot be made durable
	queued   bool  // behind a gap, and so in the queue
	place    int   // in the queue; guarded by its lock
}

// state is how far an entry has come.
type state int

const (
	added     state = iota // not yet durable
	confirmed              // may be sealed
	taken                  // by the block that is being sealed
)

func newSender(a Account) *sender {
	return &sender{account: a, slots: map[uint64]*slot{}, next: a.Nonce, gap: a.Nonce}
}

// append appends the sender's entries by their nonces.
func (s *sender) append(out []*Entry) []*Entry {
	for _, nonce := range slices.Sorted(maps.Keys(s.slots)) {
		first := len(out)
		for version := s.slots[nonce]; version != nil; version = version.replaced {
			out = append(out, version.entry)
		}
		slices.Reverse(out[first:])
	}
	return out
}

// forget removes a sender without entries.
func (p *Pool) forget(from [20]byte, s *sender) {
	if senders := p.shardOf(from).senders; len(s.slots) == 0 && senders[from] == s {
		delete(senders, from)
	}
}

// insert puts an entry in the slot of its nonce, over the one that it replaces.
func (p *Pool) insert(shard *shard, s *sender, e *Entry) {
	shard.senders[e.From] = s
	e.Arrival = p.arrivals.Add(1)
	nonce := e.Tx.Nonce()
	old := s.slots[nonce]
	now := &slot{entry: e, replaced: old}
	if nonce == s.next { // it may succeed where the one before it failed
		s.failures, s.until = 0, 0
	}
	p.index.put(e)
	p.swap(s, nonce, now)
	if nonce == s.gap {
		p.close(s)
	}
	p.settle(s)
}

// swap puts a slot in the place of another one, or of none.
func (p *Pool) swap(s *sender, nonce uint64, now *slot) {
	if old := s.slots[nonce]; old != nil {
		s.cost.Sub(&s.cost, old.entry.Cost)
		p.queue.remove(old)
	}
	s.cost.Add(&s.cost, now.entry.Cost)
	s.slots[nonce] = now
	if nonce > s.gap {
		p.queue.push(now)
	}
}

// close moves the gap to where it is after a slot has filled it.
func (p *Pool) close(s *sender) {
	for slot := s.slots[s.gap]; slot != nil; slot = s.slots[s.gap] {
		p.queue.remove(slot)
		s.gap++
	}
}

// remove removes a slot with all its versions. Later ones of the sender are behind a gap then.
func (p *Pool) remove(s *sender, nonce uint64) {
	old := s.slots[nonce]
	delete(s.slots, nonce)
	s.cost.Sub(&s.cost, old.entry.Cost)
	p.queue.remove(old)
	if s.offered != nil && s.offered.Tx.Nonce() == nonce {
		p.index.retract(s.offered)
		s.offered = nil
	}
	p.dismiss(old)
	if nonce >= s.account.Nonce && nonce < s.gap {
		for later := nonce + 1; later < s.gap; later++ {
			p.queue.push(s.slots[later])
		}
		s.gap, s.next = nonce, min(s.next, nonce)
	}
}

// dismiss removes the entries of a slot and of those that it replaced from the index.
func (p *Pool) dismiss(s *slot) {
	for ; s != nil; s = s.replaced {
		p.index.remove(s.entry)
		p.count(s.entry, -1)
	}
}

// find returns the version of a slot that has an entry, or nil.
func (o *slot) find(e *Entry) *slot {
	for o != nil && o.entry != e {
		o = o.replaced
	}
	return o
}

// confirm makes an entry executable, and forgets what it replaced.
func (p *Pool) confirm(s *sender, e *Entry) {
	version := s.slots[e.Tx.Nonce()].find(e)
	if version == nil || version.state != added {
		return
	}
	version.state = confirmed
	p.dismiss(version.replaced)
	version.replaced = nil
	p.settle(s)
}

// withdraw removes an entry that was not confirmed.
func (p *Pool) withdraw(s *sender, e *Entry) {
	nonce := e.Tx.Nonce()
	top := s.slots[nonce]
	version := top.find(e)
	if version == nil || version.state != added {
		return
	}
	switch {
	case version != top: // another one has replaced it
		for top.replaced != version {
			top = top.replaced
		}
		top.replaced = version.replaced
	case version.replaced != nil:
		p.swap(s, nonce, version.replaced)
	default:
		p.remove(s, nonce)
		p.settle(s)
		return
	}
	version.replaced = nil
	p.dismiss(version)
	p.settle(s)
}

// settle offers the entry that is next, if it can be sealed, and no other one.
func (p *Pool) settle(s *sender) {
	var next *Entry
	if slot := s.slots[s.next]; slot != nil && slot.state == confirmed && s.until <= p.blocks {
		next = slot.entry
	}
	if next == s.offered {
		return
	}
	if s.offered != nil {
		p.index.retract(s.offered)
	}
	if s.offered = next; next != nil {
		p.index.offer(next)
		p.signal()
	}
}

// advance takes over the account as it is after the head, and removes entries whose nonces are
// used.
func (p *Pool) advance(s *sender, account Account) {
	used := s.account.Nonce
	if account.Nonce < used {
		return // it is of an earlier block
	}
	s.account = account
	if account.Nonce == used {
		return
	}
	s.failures, s.until = 0, 0
	for nonce := used; nonce < account.Nonce && nonce-used <= maxOfSender; nonce++ {
		if s.slots[nonce] != nil {
			p.remove(s, nonce)
		}
	}
	s.next = max(s.next, account.Nonce)
	if s.gap < account.Nonce {
		s.gap = account.Nonce
		p.close(s)
	}
	p.settle(s)
}

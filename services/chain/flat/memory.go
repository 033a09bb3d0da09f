package flat

import (
	"fmt"
	"maps"
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// changes are what blocks did to the state.
type changes struct {
	mark
	accounts map[common.Address]*types.StateAccount // nil: it is gone
	wiped    map[common.Address]bool                // whose slots were all removed before those in slots were set
	slots    map[common.Address]map[common.Hash]common.Hash
}

func newChanges(m mark) *changes {
	return &changes{m, map[common.Address]*types.StateAccount{}, map[common.Address]bool{}, map[common.Address]map[common.Hash]common.Hash{}}
}

// merge adds what happened next.
func (c *changes) merge(next *changes) {
	for address := range next.wiped {
		c.wiped[address] = true
		delete(c.slots, address)
	}
	maps.Copy(c.accounts, next.accounts)
	for address, slots := range next.slots {
		c.slotsOf(address, len(slots))
		maps.Copy(c.slots[address], slots)
	}
}

func (c *changes) slotsOf(address common.Address, n int) map[common.Hash]common.Hash {
	slots := c.slots[address]
	if slots == nil {
		slots = make(map[common.Hash]common.Hash, n)
		c.slots[address] = slots
	}
	return slots
}

// size is the number of changed accounts and slots.
func (c *changes) size() int {
	n := len(c.accounts)
	for _, slots := range c.slots {
		n += len(slots)
	}
	return n
}

// slot names a slot.
type slot struct {
	address common.Address
	key     common.Hash
}

// version is a value since a block.
type version[T any] struct {
	since uint64
	value T
}

// at returns the value after a block, of versions with the oldest first.
func at[T any](versions []version[T], number uint64) (v version[T], ok bool) {
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].since <= number {
			return versions[i], true
		}
	}
	return v, false
}

// history are the changes of several blocks by what they changed.
type history struct {
	accounts map[common.Address][]version[*types.StateAccount]
	wiped    map[common.Address][]version[bool]
	slots    map[slot][]version[common.Hash]
}

func newHistory() history {
	return history{map[common.Address][]version[*types.StateAccount]{}, map[common.Address][]version[bool]{}, map[slot][]version[common.Hash]{}}
}

// add adds the changes of the next block.
func (h *history) add(c *changes) {
	for address, account := range c.accounts {
		h.accounts[address] = append(h.accounts[address], version[*types.StateAccount]{c.Number, account})
	}
	for address := range c.wiped {
		h.wiped[address] = append(h.wiped[address], version[bool]{c.Number, true})
	}
	for address, slots := range c.slots {
		for key, value := range slots {
			k := slot{address, key}
			h.slots[k] = append(h.slots[k], version[common.Hash]{c.Number, value})
		}
	}
}

// cut keeps, of what c changed, the versions before a block, or those since.
func (h *history) cut(c *changes, number uint64, before bool) {
	for address := range c.accounts {
		cut(h.accounts, address, number, before)
	}
	for address := range c.wiped {
		cut(h.wiped, address, number, before)
	}
	for address, slots := range c.slots {
		for key := range slots {
			cut(h.slots, slot{address, key}, number, before)
		}
	}
}

func cut[K comparable, T any](m map[K][]version[T], key K, number uint64, before bool) {
	versions := m[key]
	i := sort.Search(len(versions), func(i int) bool { return versions[i].since >= number })
	if before {
		versions = versions[:i:i]
	} else {
		versions = versions[i:]
	}
	if m[key] = versions; len(versions) == 0 {
		delete(m, key)
	}
}

// reader reads the state after a block. Any goroutine may use it.
type reader struct {
	s      *States
	number uint64
	empty  bool // the state before block 0
}

// Account implements gethstate.StateReader. The account is shared: it must not be changed.
func (r *reader) Account(address common.Address) (*types.StateAccount, error) {
	if r.empty {
		return nil, nil
	}
	s := r.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := r.stale(); err != nil {
		return nil, err
	}
	if v, ok := at(s.history.accounts[address], r.number); ok {
		return v.value, nil
	}
	if account, ok := s.accounts.Get(address); ok {
		return account, nil
	}
	account, err := s.disk.account(address)
	if err == nil {
		s.accounts.Add(address, account)
	}
	return account, err
}

func (r *reader) Storage(address common.Address, key common.Hash) (common.Hash, error) {
	if r.empty {
		return common.Hash{}, nil
	}
	s, k := r.s, slot{address, key}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := r.stale(); err != nil {
		return common.Hash{}, err
	}
	v, set := at(s.history.slots[k], r.number)
	w, wiped := at(s.history.wiped[address], r.number)
	switch {
	case set && (!wiped || v.since >= w.since):
		return v.value, nil
	case wiped:
		return common.Hash{}, nil
	}
	if value, ok := s.slots.Get(k); ok {
		return value, nil
	}
	value, err := s.disk.slot(address, key)
	if err == nil {
		s.slots.Add(k, value)
	}
	return value, err
}

// stale reports that the state is no longer kept. Its caller holds the lock until it has read: what
// it puts into a cache is then as on disk for all later states, too.
func (r *reader) stale() error {
	if r.number < r.s.oldest {
		return fmt.Errorf("the state after block %d is no longer kept", r.number)
	}
	return nil
}

func (r *reader) Code(_ common.Address, hash common.Hash) []byte  { return r.s.disk.code(hash) }
func (r *reader) CodeSize(_ common.Address, hash common.Hash) int { return len(r.s.disk.code(hash)) }
func (r *reader) Has(_ common.Address, hash common.Hash) bool     { return len(r.s.disk.code(hash)) > 0 }

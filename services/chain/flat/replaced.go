package flat

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/store"
)

// replacedBy adds what changes of a block replace, which r reads.
func (s *States) replacedBy(c *changes, r *reader, replaced *store.Replaced) error {
	for address := range c.accounts {
		before, err := r.Account(address)
		if err != nil {
			return err
		}
		replaced.Accounts[address] = before
	}
	add := func(address common.Address, key common.Hash) error {
		before, err := r.Storage(address, key)
		if err == nil {
			replaced.Slot(address, crypto.Keccak256Hash(key[:]), before)
		}
		return err
	}
	for address, slots := range c.slots {
		for key := range slots {
			if err := add(address, key); err != nil {
				return err
			}
		}
	}
	for address := range c.wiped {
		keys, err := s.keysOf(address)
		if err != nil {
			return err
		}
		for key := range keys {
			if before, err := r.Storage(address, key); err != nil || before == (common.Hash{}) {
				if err != nil {
					return err
				}
				continue
			}
			if err := add(address, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// keysOf are the slots that an account has, or had since the state on disk. Only contracts that are
// removed are asked for, which none is that has slots since Cancun.
func (s *States) keysOf(address common.Address) (map[common.Hash]bool, error) {
	keys := map[common.Hash]bool{}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.blocks {
		for key := range c.slots[address] {
			keys[key] = true
		}
	}
	prefix := slotKeys(address)
	it, err := s.disk.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return nil, err
	}
	for it.First(); it.Valid(); it.Next() {
		keys[common.BytesToHash(bytes.TrimPrefix(it.Key(), prefix))] = true
	}
	if err := it.Error(); err != nil {
		_ = it.Close()
		return nil, err
	}
	return keys, it.Close()
}

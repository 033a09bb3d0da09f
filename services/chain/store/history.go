package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// Replaced is what a block replaced in the state: accounts and slots as they were before it. From
// the newest state and what the blocks since an older one replaced follows the older one.
type Replaced struct {
	Accounts map[common.Address]*types.StateAccount         // nil: there was none
	Slots    map[common.Address]map[common.Hash]common.Hash // by the hash of the key
}

// NewReplaced returns nothing that was replaced.
func NewReplaced() *Replaced {
	return &Replaced{map[common.Address]*types.StateAccount{}, map[common.Address]map[common.Hash]common.Hash{}}
}

// Slot adds a slot, by the hash of its key.
func (r *Replaced) Slot(of common.Address, hash, value common.Hash) {
	if r.Slots[of] == nil {
		r.Slots[of] = map[common.Hash]common.Hash{}
	}
	r.Slots[of][hash] = value
}

// History says of which blocks the store has what they replaced.
type History struct {
	// From is the first block the state after which follows: what all later blocks replaced is there.
	From uint64
	// Window is the number of the last blocks whose states are kept; 0: all since From.
	Window uint64
}

// Keys of what blocks replaced. Those of one account, or slot, follow each other by the block.
const (
	accountKey = "a"    // + address, number of the block: the account as types.SlimAccountRLP; empty: none
	slotKey    = "s"    // + address, hash of the key, number of the block: value without leading zeros
	changedKey = "c"    // + number of the block: those keys without prefix and number, where they are removed after a while
	historyKey = "past" // History
)

// perBlock bounds the blocks whose records are removed when one is appended: more than one when the
// window has become smaller.
const perBlock = 4

func accountPrefix(of common.Address) []byte { return append([]byte(accountKey), of[:]...) }

func slotPrefix(of common.Address, hash common.Hash) []byte {
	return append(append([]byte(slotKey), of[:]...), hash[:]...)
}

// History returns of which blocks there is what they replaced; nil: of none.
func (s *Store) History() *History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.history
}

// KeepHistory has the store keep what the blocks from the next one on replace, for a number of the
// last blocks; 0: for all. What it has already stays.
func (s *Store) KeepHistory(window uint64) error {
	h := History{From: s.Head().Number, Window: window}
	if old := s.History(); old != nil {
		h.From = old.From
	}
	return s.guard(func() error { return s.db.Set([]byte(historyKey), encodeHistory(h), pebble.Sync) }, func() { s.history = &h })
}

func encodeHistory(h History) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, h.From), h.Window)
}

// loadHistory reads what is kept.
func (s *Store) loadHistory() error {
	text, err := s.get([]byte(historyKey))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil && len(text) != 16:
		err = fmt.Errorf("%s: the mark of the history has %d bytes", s.dir, len(text))
	}
	if err == nil {
		s.history = &History{binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:])}
	}
	return err
}

// addReplaced adds to a batch what a block replaced, and removes what is too old. It returns what is
// kept then.
func (s *Store) addReplaced(batch *pebble.Batch, number uint64, r *Replaced) (*History, error) {
	h := s.History()
	if h == nil {
		return nil, nil
	}
	if r == nil {
		return nil, fmt.Errorf("what block %d replaced is missing, and the store keeps it", number)
	}
	var changed [][]byte
	add := func(prefix, value []byte) {
		batch.Set(binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], number), value, nil)
		changed = append(changed, prefix)
	}
	for of, account := range r.Accounts {
		add(accountPrefix(of), encodeAccount(account))
	}
	for of, slots := range r.Slots {
		for hash, value := range slots {
			add(slotPrefix(of, hash), common.TrimLeftZeroes(value[:]))
		}
	}
	if h.Window == 0 {
		return h, nil
	}
	text, err := rlp.EncodeToBytes(changed)
	if err != nil {
		return nil, err
	}
	batch.Set(numbered(changedKey, number), text, nil)
	next := *h
	for range perBlock {
		if next.From+next.Window >= number {
			break
		}
		next.From++ // what it replaced leads to older states only
		if err := s.removeReplaced(batch, next.From); err != nil {
			return nil, err
		}
	}
	if next != *h {
		batch.Set([]byte(historyKey), encodeHistory(next), nil)
	}
	return &next, nil
}

// removeReplaced removes what a block replaced.
func (s *Store) removeReplaced(batch *pebble.Batch, number uint64) error {
	text, err := s.get(numbered(changedKey, number))
	if errors.Is(err, ErrNotFound) { // it was kept without end
		return nil
	}
	var changed [][]byte
	if err == nil {
		err = rlp.DecodeBytes(text, &changed)
	}
	if err != nil {
		return fmt.Errorf("what block %d replaced in %s is damaged: %w", number, s.dir, err)
	}
	for _, prefix := range changed {
		batch.Delete(binary.BigEndian.AppendUint64(prefix, number), nil)
	}
	batch.Delete(numbered(changedKey, number), nil)
	return nil
}

func encodeAccount(account *types.StateAccount) []byte {
	if account == nil {
		return nil
	}
	return types.SlimAccountRLP(*account)
}

// PastAccount returns the account after a block, if a later one has changed it; false: none has.
func (s *Store) PastAccount(of common.Address, number uint64) (*types.StateAccount, bool, error) {
	value, found, err := s.firstAfter(accountPrefix(of), number)
	if err != nil || !found || len(value) == 0 {
		return nil, found, err
	}
	account, err := types.FullAccount(value)
	if err != nil {
		err = fmt.Errorf("an account in the history in %s is damaged: %w", s.dir, err)
	}
	return account, true, err
}

// PastSlot returns the value of a slot after a block, by the hash of its key, if a later block has
// changed it; false: none has.
func (s *Store) PastSlot(of common.Address, hash common.Hash, number uint64) (common.Hash, bool, error) {
	value, found, err := s.firstAfter(slotPrefix(of, hash), number)
	return common.BytesToHash(value), found, err
}

// firstAfter returns a copy of the first value under a prefix and the number of a block after the
// given one.
func (s *Store) firstAfter(prefix []byte, number uint64) (value []byte, found bool, err error) {
	low := binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], number+1)
	high := bytes.Repeat([]byte{0xff}, 9)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: append(prefix[:len(prefix):len(prefix)], high...)})
	if err != nil {
		return nil, false, err
	}
	if found = it.First(); found {
		value, err = it.ValueAndErr()
		value = bytes.Clone(value)
	}
	if err = errors.Join(err, it.Error(), it.Close()); err != nil {
		err = fmt.Errorf("%s: %w", FileOf(err, s.dir), firstLine{err})
	}
	return value, found, err
}

// CheckReplaced holds what is stored of what a block replaced against what its execution gives.
// Roots says whether the roots of accounts are known for each block.
func (s *Store) CheckReplaced(number uint64, r *Replaced, roots bool) error {
	if h := s.History(); h == nil || number <= h.From {
		return nil
	}
	for of, want := range r.Accounts {
		text, err := s.get(binary.BigEndian.AppendUint64(accountPrefix(of), number))
		if err != nil {
			return fmt.Errorf("the account %v before it: %w", of, err)
		}
		if !roots && want != nil && len(text) > 0 {
			if got, err := types.FullAccount(text); err == nil {
				got.Root = want.Root
				text = encodeAccount(got)
			}
		}
		if !bytes.Equal(text, encodeAccount(want)) {
			return fmt.Errorf("the account %v before it is another one than its execution gives", of)
		}
	}
	for of, slots := range r.Slots {
		for hash, want := range slots {
			value, err := s.get(binary.BigEndian.AppendUint64(slotPrefix(of, hash), number))
			if err == nil && common.BytesToHash(value) != want {
				err = errors.New("it is another one than its execution gives")
			}
			if err != nil {
				return fmt.Errorf("the slot %x of %v before it: %w", hash, of, err)
			}
		}
	}
	return nil
}

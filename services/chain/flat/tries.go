package flat

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb/database"
)

// tries are those of one state: the nodes at a boundary, and what changed since. One goroutine uses
// them.
type tries struct {
	nodes    nodes
	boundary *reader // the state there
	accounts *trie.Trie
	storage  map[common.Address]*trie.Trie // of the accounts whose slots changed since the boundary

	dirty *changes // which the tries do not have yet
}

// triesAt returns new tries of the state after a block.
func (s *States) triesAt(number uint64) (*tries, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	from := s.base.Number
	for _, b := range s.pending {
		if b.Number <= number {
			from = b.Number
		}
	}
	if number < s.oldest {
		return nil, fmt.Errorf("the state after block %d is no longer kept", number)
	}
	t := s.above(from)
	for _, c := range s.blocks {
		if c.Number > from && c.Number <= number {
			t.dirty.merge(c)
		}
	}
	return t, nil
}

// above returns tries at a boundary.
func (s *States) above(number uint64) *tries {
	return &tries{nodes: nodes{s, number}, boundary: &reader{s: s, number: number}, storage: map[common.Address]*trie.Trie{}, dirty: newChanges(mark{})}
}

// hash brings the tries up to date, and returns the root, and the accounts whose storage root
// became another.
func (t *tries) hash() (root common.Hash, rooted map[common.Address]*types.StateAccount, err error) {
	if t.accounts == nil {
		if t.accounts, err = t.nodes.open(common.Hash{}, t.nodes.root()); err != nil {
			return root, nil, err
		}
	}
	for address := range t.dirty.wiped {
		if t.storage[address], err = t.nodes.open(crypto.Keccak256Hash(address[:]), types.EmptyRootHash); err != nil {
			return root, nil, err
		}
	}
	rooted = map[common.Address]*types.StateAccount{}
	for address, slots := range t.dirty.slots {
		if t.dirty.accounts[address] == nil {
			continue
		}
		if err := t.store(address, slots); err != nil {
			return root, nil, err
		}
	}
	for address, account := range t.dirty.accounts {
		// Also where no slot has changed since the last root: a StateDB from which several roots are
		// taken knows the one that it began with.
		tr := t.storage[address]
		if tr == nil || account == nil {
			continue
		}
		if root := tr.Hash(); root != account.Root {
			changed := *account
			changed.Root = root
			t.dirty.accounts[address], rooted[address] = &changed, &changed
		}
	}
	keys, values := make([][]byte, 0, len(t.dirty.accounts)), make([][]byte, 0, len(t.dirty.accounts))
	for address, account := range t.dirty.accounts {
		var value []byte
		if account != nil {
			if value, err = rlp.EncodeToBytes(account); err != nil {
				return root, nil, err
			}
		}
		keys, values = append(keys, crypto.Keccak256(address[:])), append(values, value)
	}
	if err := t.accounts.UpdateBatch(keys, values); err != nil {
		return root, nil, err
	}
	t.dirty = newChanges(mark{})
	return t.accounts.Hash(), rooted, nil
}

// store sets slots of an account.
func (t *tries) store(address common.Address, slots map[common.Hash]common.Hash) error {
	tr, err := t.storageOf(address)
	if err != nil {
		return err
	}
	keys, values := make([][]byte, 0, len(slots)), make([][]byte, 0, len(slots))
	for key, value := range slots {
		var text []byte
		if value != (common.Hash{}) {
			if text, err = rlp.EncodeToBytes(common.TrimLeftZeroes(value[:])); err != nil {
				return err
			}
		}
		keys, values = append(keys, crypto.Keccak256(key[:])), append(values, text)
	}
	return tr.UpdateBatch(keys, values)
}

// storageOf returns the trie of an account's slots.
func (t *tries) storageOf(address common.Address) (*trie.Trie, error) {
	if tr := t.storage[address]; tr != nil {
		return tr, nil
	}
	root := types.EmptyRootHash
	account, err := t.boundary.Account(address) // it has changed no slots since
	if err != nil {
		return nil, err
	}
	if account != nil {
		root = account.Root
	}
	tr, err := t.nodes.open(crypto.Keccak256Hash(address[:]), root)
	if err == nil {
		t.storage[address] = tr
	}
	return tr, err
}

// collapse makes a block's state a boundary, after which the tries are not usable. It adds to the
// block's changes the accounts whose storage root was not computed before.
func (t *tries) collapse(c *changes) (*boundary, error) {
	root, rooted, err := t.hash()
	if err != nil {
		return nil, err
	}
	for address, account := range rooted {
		c.accounts[address] = account
	}
	c.Root = root
	b := &boundary{c.mark, map[string][]byte{}}
	b.add(common.Hash{}, t.accounts)
	for address, tr := range t.storage {
		b.add(crypto.Keccak256Hash(address[:]), tr)
	}
	return b, nil
}

func (b *boundary) add(owner common.Hash, t *trie.Trie) {
	_, set := t.Commit(false)
	if set == nil {
		return
	}
	for path, node := range set.Nodes {
		b.nodes[string(nodeKey(owner, []byte(path)))] = node.Blob
	}
}

// nodes reads the nodes of the tries at a boundary.
type nodes struct {
	s      *States
	number uint64
}

// open opens a trie.
func (n nodes) open(owner, root common.Hash) (*trie.Trie, error) {
	return trie.New(&trie.ID{StateRoot: common.Hash{1}, Owner: owner, Root: root}, n) // it has nodes, unlike a trie of the zero root
}

func (n nodes) root() common.Hash {
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	for _, b := range n.s.pending {
		if b.Number == n.number {
			return b.Root
		}
	}
	if !n.s.begun {
		return types.EmptyRootHash
	}
	return n.s.base.Root
}

func (n nodes) NodeReader(common.Hash) (database.NodeReader, error) { return n, nil }

func (n nodes) Node(owner common.Hash, path []byte, hash common.Hash) ([]byte, error) {
	key := nodeKey(owner, path)
	n.s.mu.RLock()
	defer n.s.mu.RUnlock()
	for i := len(n.s.pending) - 1; i >= 0; i-- {
		if b := n.s.pending[i]; b.Number <= n.number {
			if blob, ok := b.nodes[string(key)]; ok {
				return blob, nil
			}
		}
	}
	blob, err := n.s.disk.get(key)
	switch {
	case err != nil || crypto.Keccak256Hash(blob) == hash:
	case n.number < n.s.oldest: // those of a newer state were written meanwhile
		err = errors.New("the state is no longer kept")
	default:
		err = errors.New("the node has another hash than its parent says")
	}
	return blob, err
}

package flat

import (
	"maps"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"

	"dyno/services/chain/state"
)

// over is the state after a block as the trie of accounts that a StateDB sees. It collects what
// StateDB writes to the trie when it computes a root, that is all that a block changed.
type over struct {
	state.NoTrie
	s      *States
	reader *reader
	next   bool        // it will be committed
	base   mark        // the block below
	root   common.Hash // in the header of that block
	rooted bool        // the next block has a root

	changes *changes                       // of the block up to the last root
	codes   map[common.Hash][]byte         // that the block created
	tries   *tries                         // with the changes; nil: not needed yet
	err     error                          // why the root could not be computed
	mu      sync.Mutex                     // guards what follows: StateDB writes slots of several accounts concurrently
	delta   *changes                       // since then
	opened  map[common.Address]common.Hash // storage root with which the account was opened
}

// under shows the state after a block as the database of a StateDB. Copies of a StateDB have the same
// one, and may compute roots concurrently: each opens a trie of its own.
type under struct {
	reader *reader
	begin  func() *over
}

func (under) Type() gethstate.DatabaseType                     { return gethstate.TypeMPT }
func (d under) Reader(common.Hash) (gethstate.Reader, error)   { return d.reader, nil }
func (under) Iteratee(common.Hash) (gethstate.Iteratee, error) { return nil, state.ErrNoTrie }
func (d under) OpenTrie(common.Hash) (gethstate.Trie, error)   { return d.begin(), nil }
func (under) TrieDB() *triedb.Database                         { return nil }
func (under) Commit(*gethstate.StateUpdate) error              { return state.ErrNoTrie } // States.Commit takes the changes

func (d under) OpenStorageTrie(_ common.Hash, address common.Address, root common.Hash, accounts gethstate.Trie) (gethstate.Trie, error) {
	o, ok := accounts.(*over)
	if !ok { // for a proof
		o = d.begin()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.replaced(address, root); err != nil {
		return nil, err
	}
	o.opened[address] = root
	return &storage{over: o, address: address, root: root}, nil
}

func (o *over) UpdateAccount(address common.Address, account *types.StateAccount, _ int) error {
	kept := *account
	if err := o.replaced(address, account.Root); err != nil {
		return err
	}
	o.delta.accounts[address] = &kept
	return nil
}

// replaced notes that an account without slots has replaced one that had some.
func (o *over) replaced(address common.Address, root common.Hash) error {
	if root != types.EmptyRootHash || o.delta.wiped[address] {
		return nil
	}
	was, opened := o.opened[address]
	if !opened {
		before, err := o.reader.Account(address)
		if err != nil || before == nil || o.changes.wiped[address] {
			return err
		}
		was = before.Root
	}
	if was != types.EmptyRootHash {
		o.delta.wiped[address] = true
		o.opened[address] = root
	}
	return nil
}

func (o *over) DeleteAccount(address common.Address) error {
	o.delta.accounts[address] = nil
	o.delta.wiped[address] = true
	delete(o.delta.slots, address)
	return nil
}

func (o *over) UpdateContractCode(_ common.Address, hash common.Hash, code []byte) error {
	if o.codes == nil {
		o.codes = map[common.Hash][]byte{}
	}
	o.codes[hash] = code
	return nil
}

// Hash implements gethstate.Trie. For a block without a root it is the parent's.
func (o *over) Hash() common.Hash {
	if !o.rooted {
		return o.root
	}
	t, err := o.take()
	if err != nil {
		o.err = err
		return common.Hash{}
	}
	root, rooted, err := t.hash()
	if err != nil {
		o.err = err
		return common.Hash{}
	}
	maps.Copy(o.changes.accounts, rooted)
	return root
}

// Err is why Hash, which can return no error, returned the zero hash.
func (o *over) Err() error { return o.err }

// take returns the tries with all changes, which they may not have hashed yet.
func (o *over) take() (*tries, error) {
	if o.tries == nil {
		t, err := o.s.lend(o)
		if err != nil {
			return nil, err
		}
		o.tries = t
	}
	if o.changes.size() == 0 && len(o.changes.wiped) == 0 {
		o.changes = o.delta
	} else {
		o.changes.merge(o.delta)
	}
	if t := o.tries; o.rooted && t.dirty.size() == 0 && len(t.dirty.wiped) == 0 {
		t.dirty = o.delta // hashed before the next block adds its own
	} else {
		t.dirty.merge(o.delta)
	}
	o.delta = newChanges(o.changes.mark)
	return o.tries, nil
}

// lend returns the tries of the newest state, if o is over that and will be committed, and others
// otherwise.
func (s *States) lend(o *over) (*tries, error) {
	if o.reader.empty {
		return s.above(0), nil
	}
	s.mu.Lock()
	t := s.live
	if t != nil && o.next && s.newest() == o.base {
		s.live = nil
		s.mu.Unlock()
		return t, nil
	}
	s.mu.Unlock()
	return s.triesAt(o.base.Number)
}

// Prove implements gethstate.Trie, for the state before any changes.
func (o *over) Prove(key []byte, to ethdb.KeyValueWriter) error {
	return o.s.prove(o.base, func(t *tries, _ common.Hash) error { return t.accounts.Prove(key, to) })
}

// storage is the trie of an account's slots as a StateDB sees it.
type storage struct {
	state.NoTrie
	over    *over
	address common.Address
	root    common.Hash
}

func (t *storage) UpdateStorage(address common.Address, key, value []byte) error {
	t.over.mu.Lock()
	defer t.over.mu.Unlock()
	t.over.delta.slotsOf(address, 0)[common.BytesToHash(key)] = common.BytesToHash(value)
	return nil
}

func (t *storage) DeleteStorage(address common.Address, key []byte) error {
	return t.UpdateStorage(address, key, nil)
}

// unhashed stands for the root of a storage that has slots, which tries.hash computes.
var unhashed = common.Hash{1}

// Hash implements gethstate.Trie. Of a block that will be committed it is the root as it was. Where a
// StateDB lives on, as in simulations, the storage must differ from one that is empty since the account
// was replaced.
func (t *storage) Hash() common.Hash {
	if t.over.next {
		return t.root
	}
	t.over.mu.Lock()
	defer t.over.mu.Unlock()
	t.over.opened[t.address] = unhashed
	return unhashed
}

// Prove implements gethstate.Trie, for the state before any changes.
func (t *storage) Prove(key []byte, to ethdb.KeyValueWriter) error {
	return t.over.s.prove(t.over.base, func(tries *tries, _ common.Hash) error {
		tr, err := tries.storageOf(t.address)
		if err != nil {
			return err
		}
		return tr.Prove(key, to)
	})
}

// NodeIterator implements gethstate.Trie, for the state before any changes.
func (t *storage) NodeIterator(start []byte) (it trie.NodeIterator, err error) {
	err = t.over.s.prove(t.over.base, func(tries *tries, _ common.Hash) error {
		tr, err := tries.storageOf(t.address)
		if err == nil {
			it, err = tr.Copy().NodeIterator(start) // the others prove with the trie meanwhile
		}
		return err
	})
	return it, err
}

var _ gethstate.Database = under{}

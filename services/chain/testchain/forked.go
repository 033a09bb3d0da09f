package testchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/state"
)

// removals is a trie in which what is removed stays, as an account or a slot of nothing.
type removals struct{ *trie.StateTrie }

// DeleteAccount implements gethstate.Trie.
func (t removals) DeleteAccount(of common.Address) error {
	return t.UpdateAccount(of, &types.StateAccount{Balance: new(uint256.Int), Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash.Bytes()}, 0)
}

// Prove implements gethstate.Trie: such a trie has a part of the state only.
func (removals) Prove([]byte, ethdb.KeyValueWriter) error {
	return fmt.Errorf("there are no proofs of a fork, which has a part of its state only: %w", state.ErrNoProofs)
}

// DeleteStorage implements gethstate.Trie.
func (t removals) DeleteStorage(of common.Address, key []byte) error {
	return t.UpdateStorage(of, key, []byte{0})
}

// forked reads a state of a fork: what was written since, and where nothing was, what the origin has.
type forked struct {
	gethstate.ContractCodeReader
	states *states
	asking *asking
	root   common.Hash

	mu       sync.Mutex // guards what follows
	accounts *trie.StateTrie
	slots    map[common.Address]*trie.StateTrie
}

// Account implements gethstate.Reader.
func (f *forked) Account(of common.Address) (*types.StateAccount, error) {
	a, err := f.written(of)
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return f.states.origin.account(f.asking, of)
	case isNone(a):
		return nil, nil
	}
	return a, nil
}

// written is what was written to an account; nil: nothing was.
func (f *forked) written(of common.Address) (*types.StateAccount, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.accounts.GetAccount(of)
}

// Storage implements gethstate.Reader.
func (f *forked) Storage(of common.Address, slot common.Hash) (common.Hash, error) {
	a, err := f.written(of)
	if err != nil || a != nil && isNone(a) {
		return common.Hash{}, err
	}
	if a != nil && a.Root != types.EmptyRootHash {
		value, err := f.writtenSlot(of, a.Root, slot)
		if value != nil || err != nil {
			return common.BytesToHash(value), err
		}
	}
	if of == params.HistoryStorageAddress || of == params.BeaconRootsAddress {
		return common.Hash{}, nil // each block writes another slot there: the origin would be asked for each
	}
	before, err := f.states.origin.account(f.asking, of)
	if err != nil || before == nil || before.Nonce == 0 && common.BytesToHash(before.CodeHash) == types.EmptyCodeHash {
		return common.Hash{}, err // what never had a code, also by delegation (EIP-7702), has no slots
	}
	return f.states.origin.slot(f.asking, of, slot)
}

// writtenSlot is what was written to a slot; nil: nothing was.
func (f *forked) writtenSlot(of common.Address, root common.Hash, slot common.Hash) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.slots[of]
	if t == nil {
		opened, err := f.states.MPTDatabase.OpenStorageTrie(f.root, of, root, nil)
		if err != nil {
			return nil, err
		}
		t = opened.(*trie.StateTrie)
		f.slots[of] = t
	}
	return t.GetStorage(of, slot[:])
}

// older reads the state after a block before the fork, of which nothing is kept but codes.
type older struct {
	gethstate.ContractCodeReader
	from   *upstream
	asking *asking
	number uint64
	code   func([]byte) error
}

// Account implements gethstate.Reader.
func (o older) Account(of common.Address) (*types.StateAccount, error) {
	r := read{Account: &of}
	err := o.from.accounts(o.asking, o.number, &r)
	if err == nil {
		err = o.code(r.Code)
	}
	if err != nil {
		return nil, err
	}
	return r.account(), nil
}

// Storage implements gethstate.Reader.
func (o older) Storage(of common.Address, slot common.Hash) (common.Hash, error) {
	var r read
	if err := o.from.slot(o.asking, of, slot, o.number, &r); err != nil {
		return common.Hash{}, err
	}
	return *r.Value, nil
}

// before returns the state after a block before the fork.
func (s *states) before(a *asking, header *types.Header) (*gethstate.StateDB, error) {
	return state.Past(header, older{s.codes.Reader(), s.origin.upstream(), a, header.Number.Uint64(), s.putCode})
}

// fork begins the chain again behind a block of another node. The accounts of the genesis have what they
// have there: test suites count on it.
func (c *Chain) fork(text json.RawMessage) (any, error) {
	var p forkPoint
	if err := jsonrpc.Params(text, 1, &p); err != nil {
		return nil, err
	}
	block, receipts, err := p.decode()
	if err != nil {
		return nil, err
	}
	if err := follows(block.Header()); err != nil {
		return nil, err
	}
	if !c.genesis.Config.IsPrague(block.Number(), block.Time()) {
		return nil, errors.New("this chain's own rules are of before Prague at the time of the block that is forked: serve another folder, with a genesis that has these rules")
	}
	states := newStates()
	o, err := c.newOrigin(&p, block, states)
	if err != nil {
		return nil, err
	}
	c.forks = max(c.forks, p.ID)
	for _, r := range slices.Concat(p.Reads, c.reads[p.ID]) {
		if err := o.learn(r, false); err != nil {
			return nil, err
		}
	}
	delete(c.reads, p.ID)
	root, err := c.endow(states, block)
	if err != nil {
		o.upstream().close()
		return nil, err
	}
	old := c.blocks
	c.endFork()
	c.restart(states, root, block, receipts)
	c.origin = o
	c.clock.reset(block.Time(), c.now)
	c.reverts.begin(block.NumberU64(), old[1:])
	c.changed()
	return nil, nil
}

// endow gives the accounts of the genesis their balances and, where the origin has none, their codes.
func (c *Chain) endow(states *states, block *types.Block) (common.Hash, error) {
	db, err := gethstate.New(types.EmptyRootHash, states.by(c.asking))
	if err != nil {
		return common.Hash{}, err
	}
	for _, at := range slices.SortedFunc(maps.Keys(c.genesis.Alloc), common.Address.Cmp) {
		a := c.genesis.Alloc[at]
		switch {
		case len(a.Code) == 0 && a.Balance != nil:
			db.SetBalance(at, uint256.MustFromBig(a.Balance), 0)
		case len(a.Code) > 0 && db.GetCodeSize(at) == 0:
			db.SetCode(at, a.Code, 0)
			db.SetNonce(at, max(a.Nonce, db.GetNonce(at)), 0)
			for key, value := range a.Storage {
				db.SetState(at, key, value)
			}
		}
	}
	return db.Commit(params.Rules{}, block.NumberU64())
}

// endFork ends that the chain is a fork.
func (c *Chain) endFork() {
	if c.origin != nil {
		c.origin.upstream().close()
		c.origin = nil
	}
}

// learn keeps what the journal has of what was read of an origin.
func (c *Chain) learn(text json.RawMessage) (any, error) {
	var r read
	if err := jsonrpc.Params(text, 1, &r); err != nil {
		return nil, err
	}
	c.forks = max(c.forks, r.Fork)
	if c.origin != nil && c.origin.id == r.Fork {
		return nil, c.origin.learn(&r, false)
	}
	c.reads[r.Fork] = append(c.reads[r.Fork], &r) // of a fork that follows, or of one that has ended
	return nil, nil
}

// setURL says where the node that was forked is now. On a chain that is no fork it does nothing, as on anvil.
func (c *Chain) setURL(at string) (any, error) {
	if c.origin == nil {
		return nil, nil
	}
	u, err := newUpstream(at)
	if err == nil {
		c.origin.move(u)
	}
	return nil, err
}

package testchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
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

// DeleteStorage implements gethstate.Trie.
func (t removals) DeleteStorage(of common.Address, key []byte) error {
	return t.UpdateStorage(of, key, []byte{0})
}

// forked reads a state of a fork: what was written since, and where nothing was, what the origin has.
type forked struct {
	gethstate.ContractCodeReader
	states *states
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
		return f.states.origin.account(of)
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
	before, err := f.states.origin.account(of)
	if err != nil || before == nil || common.BytesToHash(before.CodeHash) == types.EmptyCodeHash {
		return common.Hash{}, err // what has no code has no slots
	}
	return f.states.origin.slot(of, slot)
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
	number uint64
	code   func([]byte) error
}

// Account implements gethstate.Reader.
func (o older) Account(of common.Address) (*types.StateAccount, error) {
	var r read
	err := o.from.account(of, o.number, &r)
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
	if err := o.from.slot(of, slot, o.number, &r); err != nil {
		return common.Hash{}, err
	}
	return *r.Value, nil
}

// before returns the state after a block before the fork.
func (s *states) before(header *types.Header) (*gethstate.StateDB, error) {
	return state.Past(header, older{s.codes.Reader(), s.origin.upstream(), header.Number.Uint64(), s.putCode})
}

// forkRecord is the record of a fork.
const forkRecord = "fork"

// resetOrFork begins the chain again: with its genesis, or as a fork of another node's.
func (c *Chain) resetOrFork(_ context.Context, text []byte) (any, error) {
	var o struct {
		Forking struct {
			JSONRPCURL  string
			BlockNumber json.RawMessage
		}
	}
	if err := jsonrpc.Params(text, 0, &o); err != nil {
		return nil, err
	}
	if o.Forking.JSONRPCURL == "" {
		return c.do("anvil_reset", json.RawMessage("[]"))
	}
	u, err := newUpstream(o.Forking.JSONRPCURL)
	if err != nil {
		return nil, err
	}
	defer u.close()
	number, err := u.named(o.Forking.BlockNumber)
	if err != nil {
		return nil, err
	}
	p, err := u.point(number)
	if err == nil {
		err = u.ask(question{"eth_chainId", []any{}, &p.ChainID})
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.forks++
	p.ID = c.forks
	c.mu.Unlock()
	record, err := json.Marshal([]*forkPoint{p})
	if err == nil && len(record) > largestRecord {
		err = fmt.Errorf("block %d of the node that is forked is too large for the journal: choose another one", number)
	}
	if err != nil {
		return nil, err
	}
	return c.do(forkRecord, record)
}

// named is the number of the block that a parameter names; without one, of the last.
func (u *upstream) named(text json.RawMessage) (uint64, error) {
	if len(text) == 0 || string(text) == "null" || string(text) == `"latest"` {
		return u.head()
	}
	var n quantity
	if err := json.Unmarshal(text, &n); err != nil {
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "blockNumber: %v", err)
	}
	return n.uint64()
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
	states := newStates()
	o, err := c.newOrigin(&p, block.NumberU64(), states)
	if err != nil {
		return nil, err
	}
	c.forks = max(c.forks, p.ID)
	for _, r := range c.reads[p.ID] {
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
	db, err := gethstate.New(types.EmptyRootHash, states)
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

// follows reports why no block can follow one with a header.
func follows(h *types.Header) error {
	if h.BaseFee == nil || h.ExcessBlobGas == nil || h.BlobGasUsed == nil || h.RequestsHash == nil || h.Difficulty.Sign() != 0 {
		return errors.New("the block of the node that is forked is of rules before Prague: choose a later one, or a node whose chain has these rules")
	}
	return nil
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

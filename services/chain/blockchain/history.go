package blockchain

import (
	"cmp"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// keepHistory has the states kept as Options.History says.
func (c *Chain) keepHistory(blocks int64) error {
	window := uint64(max(blocks, 0)) // 0: all
	switch h := c.Blocks.History(); {
	case blocks >= 0 && blocks <= state.Kept, h != nil && h.Window == window:
		return nil
	}
	return c.Blocks.KeepHistory(window)
}

// replaced returns where what a block replaces is collected; nil: it is not kept.
func (c *Chain) replaced() *store.Replaced {
	if c.Blocks.History() == nil {
		return nil
	}
	return store.NewReplaced()
}

// StateAt returns the state after a block; an error unless the block is one of the last 128, or of
// those for which the setting history keeps more.
func (c *Chain) StateAt(header *types.Header) (*gethstate.StateDB, error) {
	db, err := c.states.At(header)
	if err == nil {
		return db, nil
	}
	h := c.Blocks.History()
	if h == nil {
		return nil, fmt.Errorf("%w; the setting history keeps more states from when it is set: --set history=0 keeps all", err)
	}
	if n := header.Number.Uint64(); n < h.From || n > c.Head().Number.Uint64() {
		return nil, fmt.Errorf("%w; the setting history keeps the states since block %d", err, h.From)
	}
	return state.Past(header, &past{c, header.Number.Uint64()})
}

// Kept says of which blocks the states are there: the oldest of them, and the number of the last
// blocks for which they are kept; 0: all since the oldest.
func (c *Chain) Kept() (oldest, window uint64) {
	if h := c.Blocks.History(); h != nil {
		return h.From, h.Window
	}
	if head := c.Head().Number.Uint64(); head >= state.Kept {
		oldest = head + 1 - state.Kept
	}
	return oldest, state.Kept
}

// past reads the state after a block from what later ones replaced. Any goroutine may use it.
type past struct {
	c      *Chain
	number uint64
}

// kept is an error once the state is no longer kept: what was read before it is asked may be that of
// a later state then.
func (p *past) kept() error {
	if h := p.c.Blocks.History(); h == nil || h.From > p.number {
		return fmt.Errorf("missing trie node: the state after block %d is no longer kept; the setting history says of how many blocks they are", p.number)
	}
	return nil
}

// newest returns the newest state, in which what no later block has changed is as it was. It is
// asked for before the blocks are: one that is appended meanwhile has no part in it.
func (p *past) newest() (gethstate.Reader, error) { return p.c.states.Reader(p.c.Head()) }

// Account implements gethstate.StateReader.
func (p *past) Account(of common.Address) (*types.StateAccount, error) {
	newest, err := p.newest()
	if err != nil {
		return nil, err
	}
	account, found, err := p.c.Blocks.PastAccount(of, p.number)
	if !found && err == nil {
		account, err = newest.Account(of)
	}
	if err == nil {
		err = p.kept()
	}
	if err != nil {
		return nil, err
	}
	return account, nil
}

// Storage implements gethstate.StateReader.
func (p *past) Storage(of common.Address, key common.Hash) (common.Hash, error) {
	newest, err := p.newest()
	if err != nil {
		return common.Hash{}, err
	}
	value, found, err := p.c.Blocks.PastSlot(of, crypto.Keccak256Hash(key[:]), p.number)
	if !found && err == nil {
		value, err = newest.Storage(of, key)
	}
	return value, cmp.Or(err, p.kept())
}

// Code implements gethstate.ContractCodeReader.
func (p *past) Code(of common.Address, hash common.Hash) []byte {
	newest, err := p.newest()
	if err != nil {
		return nil
	}
	return newest.Code(of, hash)
}

// CodeSize implements gethstate.ContractCodeReader.
func (p *past) CodeSize(of common.Address, hash common.Hash) int { return len(p.Code(of, hash)) }

// Has implements gethstate.ContractCodeReader.
func (p *past) Has(of common.Address, hash common.Hash) bool { return len(p.Code(of, hash)) > 0 }

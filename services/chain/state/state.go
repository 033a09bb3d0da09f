// Package state says what a chain needs of the states after its blocks: the seam between the chain
// and the ways to keep them. One is here, go-ethereum's; package flat is the other.
//
// A state is that after a block, named by the block's header: two blocks may share a root, and
// under the rule rootEvery a header may carry an older one. It is not for blocks, nor for what
// their execution changes. It starts no goroutines beyond those of Pebble and go-ethereum, which
// Close ends.
package state

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"dyno/services/chain/store"
)

// Kept is the number of the last blocks whose states can be read, at least.
const Kept = 128

// States are the states after the last blocks of one chain. One goroutine commits; any may read.
//
// They need not survive a crash whole: after it an older state is the newest, and the chain
// executes the blocks since then again.
type States interface {
	// At returns the state after a block, to read or to execute over; nil is the empty state before
	// block 0. Each call returns another one, for one goroutine. A state of which 128 newer ones exist
	// may report errors from then on.
	At(header *types.Header) (*gethstate.StateDB, error)

	// Next is At for a state that will be committed: its root costs less.
	Next(header *types.Header) (*gethstate.StateDB, error)

	// Reader returns the accounts and slots after a block, for any number of goroutines, under the
	// same condition. It costs less than At. Codes are there for ever.
	Reader(header *types.Header) (gethstate.Reader, error)

	// Commit keeps db as the state after a block, which was executed over it under these rules. Db
	// came from Next with the block's parent, the newest state, and is not usable afterwards. The error
	// may be that its root is not the header's. What the block replaced is added to replaced, unless
	// that is nil.
	Commit(db *gethstate.StateDB, header *types.Header, rules params.Rules, replaced *store.Replaced) error

	// Has reports whether the state after a block is there.
	Has(header *types.Header) bool

	// Root returns the root of the state after a block, also if its header carries an older one.
	Root(header *types.Header) (common.Hash, error)

	// Verify reads all of the state after a block, and holds it against its root. The error says
	// what is damaged.
	Verify(ctx context.Context, header *types.Header, root common.Hash) error

	// Close ends the states. Those up to the block keep are there when they are opened again, as far
	// as they are now; with nil, those that happen to be on disk.
	Close(keep *types.Header) error
}

// Allocate commits the accounts of a genesis as the state after block 0.
func Allocate(s States, alloc types.GenesisAlloc, header *types.Header) error {
	db, err := s.Next(nil)
	if err != nil {
		return err
	}
	if err := Fill(db, alloc); err != nil {
		return err
	}
	return s.Commit(db, header, params.Rules{}, nil)
}

// Fill sets the accounts of a genesis.
func Fill(db *gethstate.StateDB, alloc types.GenesisAlloc) error {
	for address, account := range alloc {
		if account.Balance != nil {
			db.AddBalance(address, uint256.MustFromBig(account.Balance), tracing.BalanceIncreaseGenesisBalance)
		}
		db.SetCode(address, account.Code, tracing.CodeChangeGenesis)
		db.SetNonce(address, account.Nonce, tracing.NonceChangeGenesis)
		for key, value := range account.Storage {
			db.SetState(address, key, value)
		}
	}
	return db.Error()
}

// Err is why a state could not be read, or its root not be computed: then the root is of no use.
func Err(db *gethstate.StateDB) error {
	if t, ok := db.GetTrie().(interface{ Err() error }); ok {
		return errors.Join(db.Error(), t.Err())
	}
	return db.Error()
}

package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/store"
)

// Errors in go-ethereum's words.
var (
	errNoHeader = errors.New("header not found")
	errNoHash   = errors.New("header for hash not found")
	errNoState  = errors.New("missing trie node")
)

// Latest is the block of a parameter that is left out.
func Latest() rpc.BlockNumberOrHash {
	return rpc.BlockNumberOrHashWithNumber(rpc.LatestBlockNumber)
}

// isPending reports whether a parameter names the block that would be sealed next.
func isPending(at rpc.BlockNumberOrHash) bool {
	number, ok := at.Number()
	return ok && number == rpc.PendingBlockNumber
}

// NumberOf returns the number of the sealed block that a parameter names. Every sealed block is
// final, so that latest, safe and finalized are the head; so is pending, where only sealed blocks
// can be meant. The block may not exist yet.
func (b Backend) NumberOf(n rpc.BlockNumber) uint64 {
	switch {
	case n == rpc.EarliestBlockNumber:
		return 0
	case n < 0:
		return b.States.Head().Number.Uint64()
	}
	return uint64(n)
}

// Header returns the header of the sealed block that a parameter names, or an error in go-ethereum's words
// if there is none.
func (b Backend) Header(at rpc.BlockNumberOrHash) (*types.Header, error) {
	hash, byHash := at.Hash()
	number, _ := at.Number()
	if !byHash && number < 0 && number != rpc.EarliestBlockNumber {
		return b.States.Head(), nil
	}
	if !byHash {
		header, err := b.Blocks.Header(b.NumberOf(number))
		return header, orNotFound(err, errNoHeader)
	}
	found, err := b.Blocks.Number(hash)
	if err != nil {
		return nil, orNotFound(err, errNoHash)
	}
	return b.Blocks.Header(found)
}

// State returns the state after the block that a parameter names, and the block's header, for one
// caller, who may change it.
func (b Backend) State(ctx context.Context, at rpc.BlockNumberOrHash) (*state.StateDB, *types.Header, error) {
	b = b.For(ctx)
	if isPending(at) {
		switch db, header, err := b.Pool.PendingState(ctx); {
		case err != nil:
			return nil, nil, Refusal(err)
		case header != nil:
			return db, header, nil
		}
	}
	header, err := b.Header(at)
	if err != nil {
		return nil, nil, err
	}
	db, err := b.States.StateAt(header)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the state after block %d is not kept (%v)", errNoState, header.Number, err)
	}
	return db, header, nil
}

// orNotFound returns instead of store.ErrNotFound what the caller has for it.
func orNotFound(err, instead error) error {
	if errors.Is(err, store.ErrNotFound) {
		return instead
	}
	return err
}

// Package execution executes blocks over a state, under the rules of the fork that each is on, and
// holds what comes out against their headers: gas, receipts, blooms, requests, roots. It knows the
// forks by name, and judges transactions as far as that needs no state.
//
// It judges headers as Ethereum does, except for proof of work and of stake. It is not for where
// blocks and states are stored, nor for which block is next. It starts no goroutines beyond those
// of go-ethereum's, which end with the call.
package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/genesis"
	"dyno/services/chain/state"
)

// Ancestors are the blocks below the one that is executed. Errors of the disk are for the
// implementation to remember: go-ethereum knows only that a block is missing.
type Ancestors interface {
	Header(number uint64) *types.Header // nil: there is none
	Block(number uint64) *types.Block
}

// Executor executes the blocks of one chain. It may be used from any goroutine.
type Executor struct {
	config *params.ChainConfig
	rules  genesis.Rules
	engine consensus.Engine
}

// New returns the executor for the chain of a genesis.
func New(g *genesis.Genesis) *Executor {
	return &Executor{config: g.Config, rules: g.Rules, engine: beacon.New(ethash.NewFaker())}
}

// Execute executes a block over the state of its parent, which it changes, and returns the
// receipts. The error says what is wrong with the block.
func (e *Executor) Execute(ctx context.Context, block *types.Block, parent *types.Header, db *gethstate.StateDB, below Ancestors) (types.Receipts, error) {
	if err := e.judge(block, parent, below); err != nil {
		return nil, err
	}
	chain := &view{executor: e, below: below}
	result, err := core.NewStateProcessor(chain).Process(ctx, block, db, nil, nil, vm.Config{}, nil)
	if err == nil {
		err = e.validate(block, parent, db, result)
	}
	if err := errors.Join(state.Err(db), err); err != nil {
		return nil, err
	}
	return result.Receipts, nil
}

// validate holds what came out of a block's execution against its header.
func (e *Executor) validate(block *types.Block, parent *types.Header, db *gethstate.StateDB, result *core.ProcessResult) error {
	if header := block.Header(); !e.Rooted(header) {
		if header.Root != parent.Root {
			return fmt.Errorf("invalid merkle root: a block without its own has its parent's, %x, and it has %x", parent.Root, header.Root)
		}
		header.Root = db.IntermediateRoot(e.Rules(header))
		block = block.WithSeal(header)
	}
	return core.NewBlockValidator(e.config, nil).ValidateState(block, db, result, false)
}

// Rooted reports whether the header of a block has the root of the state after it, by the rule
// rootEvery. That of any other block has its parent's.
func (e *Executor) Rooted(h *types.Header) bool { return h.Number.Uint64()%e.rules.RootEvery == 0 }

// Rules are those that hold in a block.
func (e *Executor) Rules(h *types.Header) params.Rules {
	return e.config.Rules(h.Number, h.Difficulty.Sign() == 0, h.Time)
}

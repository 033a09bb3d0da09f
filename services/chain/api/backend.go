// Package api is the methods of chaind's JSON-RPC API which read the chain and take transactions,
// in the shapes and with the words of go-ethereum. Packages evm and filter below it add those that
// execute calls and those that follow the chain.
//
// It is not for how calls arrive (package jsonrpc), nor for what a node does with
// transactions: Backend is the node. It starts no goroutines.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/node"
)

// Backend is the node that the methods are about. Its methods may be called from any goroutine.
type Backend struct {
	Genesis *genesis.Genesis
	Blocks  Blocks
	States  States
	Pool    Pool
	Feed    Feed
	Recent  *Recent // nil: each block is read when it is asked for

	// Within are Blocks and States for a call, at whose end nothing is asked of another node for it; nil: no
	// other node is asked.
	Within func(context.Context) (Blocks, States)

	// Impersonated reports, on a test chain, whether an account may be used without its key; nil: this
	// is none.
	Impersonated func(common.Address) bool
	// Lend has an account of a test chain used without its key until the caller calls the function; nil: this is
	// none.
	Lend func(common.Address) (back func())
	// Named are the impersonated accounts that clients have named, in the order of addresses; nil: there
	// are none.
	Named func() []common.Address
	// Signatures are the accounts that ecrecover answers for signatures on a test chain; nil: there are none.
	Signatures func() execution.Signatures
	// GasLimit is that of the next block of a test chain, which a call may have, too; nil: this is none.
	GasLimit func() uint64

	// BlockWait is how long the answer to a transaction that the next blocks can have waits for its
	// block, at most.
	BlockWait time.Duration
}

// For returns the node for a call, by Within.
func (b Backend) For(ctx context.Context) Backend {
	if b.Within != nil {
		b.Blocks, b.States = b.Within(ctx)
	}
	return b
}

// signer recovers the senders of a block's transactions.
func (b Backend) signer(number *big.Int, time uint64) types.Signer {
	signer := b.wrapped(types.MakeSigner(b.Genesis.Config, number, time))
	if b.Impersonated != nil { // a fork has blocks of another chain
		signer = execution.Elsewhere(signer)
	}
	return signer
}

// LatestSigner recovers the senders of transactions that wait.
func (b Backend) LatestSigner() types.Signer { return b.wrapped(types.LatestSigner(b.Genesis.Config)) }

func (b Backend) wrapped(s types.Signer) types.Signer {
	if b.Impersonated != nil {
		return execution.Impersonating(s)
	}
	return s
}

// Blocks are the stored blocks. *store.Store implements it. What is not there is store.ErrNotFound.
type Blocks interface {
	RawBlock(number uint64) ([]byte, error)
	Block(number uint64) (*types.Block, error)
	Header(number uint64) (*types.Header, error)
	Receipts(number uint64) (types.Receipts, error) // as stored: with what consensus knows only, and new, since the caller derives the rest
	Number(hash common.Hash) (uint64, error)
	Transaction(hash common.Hash) (number uint64, index uint32, err error)
}

// Forked is Blocks of a chain that can be a fork of another node's.
type Forked interface {
	// FirstLogs is the number of the first block whose logs are here. The other node has those before.
	FirstLogs() uint64
	// LogsElsewhere returns the logs that the other node answers for the parameter of eth_getLogs, as they are.
	LogsElsewhere(ctx context.Context, criteria any) ([]json.RawMessage, error)
}

// States are the states after the last blocks. *blockchain.Chain implements it.
type States interface {
	// Head is the last block that clients may know of: it is durable, and Blocks has it.
	Head() *types.Header
	// StateAt returns the state after a block, for one caller, who may change it. It is an error for
	// a block whose state is no longer kept.
	StateAt(*types.Header) (*state.StateDB, error)
	// Kept says of which blocks the states are there: the oldest of them, and the number of the last
	// blocks for which they are kept; 0: all since the oldest.
	Kept() (oldest, window uint64)
}

// Pool is the waiting transactions. *node.Node implements it.
type Pool interface {
	// Submit takes transactions in their canonical form and returns what became of each, once those
	// that it accepts are durable. It may keep the bytes.
	Submit(ctx context.Context, raws [][]byte) []node.Submitted
	// Waiting returns a waiting transaction; nil if there is none.
	Waiting(hash common.Hash) *types.Transaction
	// Nonce returns the nonce after the executable transactions of an account; false: it has none.
	Nonce(of common.Address) (uint64, bool)
	// PendingState returns the header of the block that would be sealed next, and the state after all
	// that waits and can be executed, for one caller, who may change it. Nil: no block follows the head.
	PendingState(context.Context) (*state.StateDB, *types.Header, error)
	// PendingBlock returns that block, with what consensus knows of its receipts; nil likewise.
	PendingBlock(context.Context) (*types.Block, types.Receipts, error)
	// Content returns the waiting transactions by sender, each sender's in the order of nonces: those
	// that the next blocks take, and those behind a gap.
	Content() (executable, queued map[common.Address]types.Transactions)
	// Stats counts the waiting transactions: those that the next blocks take, and those behind a gap.
	Stats() (executable, queued int)
}

// Feed is what happens in the node, for followers that remember where they are: none has a queue
// here, and none needs to be released. *node.Node implements it.
type Feed interface {
	// Grown returns a channel that is closed once there is a block after the given number. It is
	// closed already if there is one.
	Grown(number uint64) <-chan struct{}
	// Accepted returns at most a number of hashes of accepted transactions, in their order, from the
	// given position on, which is the sum of all that were accepted before. A position beyond the last
	// means the present.
	Accepted(from uint64, most int) node.Accepted
}

// Reverting is a Feed of a chain that can take blocks back.
type Reverting interface {
	// Reverted returns how often blocks were taken back, ever, and what was left and taken each time
	// since an earlier such number, in that order. Channels of Grown are closed then, too.
	Reverted(since int) (times int, taken []node.Taken)
}

// errReadOnly refuses transactions.
var errReadOnly = errors.New("this node only reads its chain; start it without --read-only to send transactions")

// ReadOnly is the Pool and the Feed of a node whose chain does not grow.
type ReadOnly struct{}

// Submit implements Pool: it refuses all.
func (ReadOnly) Submit(_ context.Context, raws [][]byte) []node.Submitted {
	refused := make([]node.Submitted, len(raws))
	for i := range refused {
		refused[i].Err = errReadOnly
	}
	return refused
}

// Waiting implements Pool.
func (ReadOnly) Waiting(common.Hash) *types.Transaction { return nil }

// Nonce implements Pool.
func (ReadOnly) Nonce(common.Address) (uint64, bool) { return 0, false }

// PendingState implements Pool.
func (ReadOnly) PendingState(context.Context) (*state.StateDB, *types.Header, error) {
	return nil, nil, nil
}

// PendingBlock implements Pool.
func (ReadOnly) PendingBlock(context.Context) (*types.Block, types.Receipts, error) {
	return nil, nil, nil
}

// Content implements Pool.
func (ReadOnly) Content() (executable, queued map[common.Address]types.Transactions) {
	return nil, nil
}

// Stats implements Pool.
func (ReadOnly) Stats() (executable, queued int) { return 0, 0 }

// Grown implements Feed.
func (ReadOnly) Grown(uint64) <-chan struct{} { return nil }

// Accepted implements Feed.
func (ReadOnly) Accepted(uint64, int) node.Accepted { return node.Accepted{} }

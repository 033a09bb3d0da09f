package execution

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/services/chain/state"
)

// Builder makes a block of transactions that it executes. It belongs to one goroutine.
type Builder struct {
	executor *Executor
	chain    *view
	parent   *types.Header
	header   *types.Header
	db       *gethstate.StateDB
	evm      *vm.EVM
	gas      *core.GasPool
	signer   types.Signer
	code     bool // accounts with code may send transactions, as those of a test chain

	body     types.Body
	receipts types.Receipts
	logs     []*types.Log
	accesses *bal.ConstructionBlockAccessList
}

// Build begins the block that follows a parent, over the parent's state, which it changes. Its time
// is in seconds since 1970 and not before the parent's. Finish or Abandon ends it.
func (e *Executor) Build(parent *types.Header, time uint64, db *gethstate.StateDB, below Ancestors) (*Builder, error) {
	if time < parent.Time {
		return nil, fmt.Errorf("block %d would have the time %d, and its parent has %d", parent.Number.Uint64()+1, time, parent.Time)
	}
	header, err := e.Next(parent, time)
	if err != nil {
		return nil, err
	}
	return e.begin(parent, header, db, below, func(s types.Signer) types.Signer { return s }, nil), nil
}

// BuildTest is Build of a block for a test chain, whose header the caller may have made another than
// Next made it, and whose transactions may be those of Impersonate, and of accounts with code, as anvil and
// Hardhat have it. Hooks see the execution, unless they are nil.
func (e *Executor) BuildTest(parent, header *types.Header, db *gethstate.StateDB, below Ancestors, known Signatures, hooks *tracing.Hooks) *Builder {
	b := e.begin(parent, header, db, below, Impersonating, hooks)
	known.SetIn(b.evm)
	b.code = true
	return b
}

// RefuseCode has a block of a test chain refuse the transactions of accounts with code, as EIP-3607 demands.
func (b *Builder) RefuseCode() { b.code = false }

func (e *Executor) begin(parent, header *types.Header, db *gethstate.StateDB, below Ancestors, signer func(types.Signer) types.Signer, hooks *tracing.Hooks) *Builder {
	time := header.Time
	b := &Builder{
		executor: e, chain: &view{executor: e, below: below}, parent: parent, header: header, db: db, gas: core.NewGasPool(header.GasLimit),
		signer: signer(types.MakeSigner(e.config, header.Number, time)), accesses: bal.NewConstructionBlockAccessList(),
	}
	if header.WithdrawalsHash != nil {
		b.body.Withdrawals = types.Withdrawals{}
	}
	b.evm = vm.NewEVM(core.NewEVMBlockContext(header, b.chain, nil), &unprepared{StateDB: db}, e.config, vm.Config{Tracer: hooks})
	b.accesses.Merge(core.PreExecution(context.Background(), header.ParentBeaconRoot, parent, e.config, b.evm, header.Number, time))
	return b
}

// Next is the header after a parent, with a time in seconds since 1970, without what execution adds.
func (e *Executor) Next(parent *types.Header, time uint64) (*types.Header, error) {
	number := new(big.Int).Add(parent.Number, common.Big1)
	if !e.config.IsPostMerge(number.Uint64(), time) {
		return nil, fmt.Errorf("block %d would be of proof of work, and only blocks of proof of stake are made: set \"terminalTotalDifficulty\": 0 in the genesis, or serve the chain with --read-only", number)
	}
	header := &types.Header{
		ParentHash: parent.Hash(), UncleHash: types.EmptyUncleHash, Number: number, Time: time, Difficulty: new(big.Int),
		GasLimit: parent.GasLimit, BaseFee: e.NextBaseFee(parent),
	}
	if e.config.IsLondon(number) && !e.config.IsLondon(parent.Number) {
		header.GasLimit *= e.config.ElasticityMultiplier()
	}
	if e.config.IsShanghai(number, time) {
		header.WithdrawalsHash = &types.EmptyWithdrawalsHash
	}
	if e.config.IsCancun(number, time) {
		excess := eip4844.CalcExcessBlobGas(e.config, parent, time)
		header.BlobGasUsed, header.ExcessBlobGas, header.ParentBeaconRoot = new(uint64), &excess, new(common.Hash)
	}
	if e.config.IsAmsterdam(number, time) {
		slot := number.Uint64()
		header.SlotNumber = &slot
	}
	return header, nil
}

// NextBaseFee is the base fee of the block that follows a parent; nil before London.
func (e *Executor) NextBaseFee(parent *types.Header) *big.Int {
	switch next := new(big.Int).Add(parent.Number, common.Big1); {
	case !e.config.IsLondon(next):
		return nil
	case e.rules.ZeroBaseFee:
		return new(big.Int)
	}
	return eip1559.CalcBaseFee(e.config, parent)
}

// Header is that of the block so far.
func (b *Builder) Header() *types.Header { return b.header }

// GasLeft is the gas that the block still has.
func (b *Builder) GasLeft() uint64 { return b.gas.Available(b.evm.GetRules().IsAmsterdam) }

// Len is the number of transactions that the block has so far.
func (b *Builder) Len() int { return len(b.body.Transactions) }

// Add executes a transaction as the block's next one. After an error the block is as before: the
// transaction cannot be in it.
func (b *Builder) Add(tx *types.Transaction) error {
	if tx.BlobTxSidecar() != nil || tx.Type() == types.BlobTxType {
		return core.ErrTxTypeNotSupported
	}
	msg, err := Message(tx, b.signer, b.header.BaseFee, b.code)
	if err != nil {
		return err
	}
	before, left := b.db.Snapshot(), b.gas.Snapshot()
	index := len(b.body.Transactions)
	b.db.SetTxContext(tx.Hash(), index, uint32(index+1))
	receipt, accesses, err := core.ApplyTransactionWithEVM(context.Background(), msg, b.gas, b.db, b.header.Number, common.Hash{}, b.header.Time, tx, b.evm)
	if err != nil {
		b.db.RevertToSnapshot(before)
		b.gas.Set(left)
		return err
	}
	b.accesses.Merge(accesses)
	b.body.Transactions = append(b.body.Transactions, tx)
	b.receipts = append(b.receipts, receipt)
	b.logs = append(b.logs, receipt.Logs...)
	return nil
}

// Beyond returns a builder that executes what does not fit into the block, over a copy of its state
// and with some gas of its own. It is for looking ahead: there is no block to finish.
func (b *Builder) Beyond(gas uint64) *Builder {
	beyond := *b
	beyond.db, beyond.gas, beyond.accesses = b.db.Copy(), core.NewGasPool(gas), bal.NewConstructionBlockAccessList()
	beyond.body, beyond.receipts, beyond.logs = types.Body{}, nil, nil
	beyond.evm = vm.NewEVM(core.NewEVMBlockContext(b.header, b.chain, nil), &unprepared{StateDB: beyond.db}, b.executor.config, vm.Config{})
	return &beyond
}

// State is the state after the transactions that were added.
func (b *Builder) State() *gethstate.StateDB { return b.db }

// Preview returns the block with the transactions that were added, and their receipts, as it would be
// if it were finished now, except for what only that computes: the root is the parent's, and
// there are no requests. More can be added.
func (b *Builder) Preview() (*types.Block, types.Receipts) {
	header := types.CopyHeader(b.header)
	header.Root, header.GasUsed = b.parent.Root, b.gas.Used()
	if b.evm.GetRules().IsPrague {
		header.RequestsHash = &types.EmptyRequestsHash
	}
	body := b.body
	return types.NewBlock(header, &body, b.receipts, trie.NewStackTrie(nil)), slices.Clone(b.receipts)
}

// Finish returns the block with the transactions that were added, and their receipts. The state is
// the one after the block, to be committed.
func (b *Builder) Finish() (*types.Block, types.Receipts, error) {
	defer b.Abandon()
	last := uint32(len(b.body.Transactions) + 1)
	requests, accesses, err := core.PostExecution(context.Background(), b.executor.config, b.header.Number, b.header.Time, b.logs, b.body.Withdrawals, b.evm, last)
	if err != nil {
		return nil, nil, err
	}
	b.accesses.Merge(accesses)
	if requests != nil {
		hash := types.CalcRequestsHash(requests)
		b.header.RequestsHash = &hash
	}
	b.header.GasUsed = b.gas.Used()
	block := core.AssembleBlock(b.chain, b.header, b.db, &b.body, b.receipts, b.accesses)
	if err := state.Err(b.db); err != nil {
		return nil, nil, errors.Join(errors.New("the state cannot be read"), err)
	}
	if header := block.Header(); !b.executor.Rooted(header) {
		header.Root = b.parent.Root
		block = block.WithSeal(header)
	}
	return block, b.receipts, nil
}

// Abandon ends a block that will not be finished.
func (b *Builder) Abandon() {
	if b.evm != nil {
		b.evm.Release()
		b.evm = nil
	}
}

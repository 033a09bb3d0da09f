package evm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// simulatedRun is the execution of one simulated block.
type simulatedRun struct {
	s              *simulator
	block          *simulatedBlock
	header, parent *types.Header

	evm      *vm.EVM
	shown    vm.StateDB // the state, with a tracer
	tracer   *transfers
	pool     *core.GasPool
	accesses *bal.ConstructionBlockAccessList

	txs      types.Transactions
	senders  []common.Address
	receipts types.Receipts
	calls    []*simulatedCall
	logs     []*types.Log // of calls that succeeded
	blobGas  uint64
}

// simulatedCall is what became of a call.
type simulatedCall struct {
	ReturnData hexutil.Bytes  `json:"returnData"`
	Logs       []*types.Log   `json:"logs"`
	GasUsed    hexutil.Uint64 `json:"gasUsed"`
	MaxUsedGas hexutil.Uint64 `json:"maxUsedGas"`
	Status     hexutil.Uint64 `json:"status"`
	Error      *callError     `json:"error,omitempty"`
}

// callError is the error of a call that failed in a block.
type callError struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
	Data    any    `json:"data,omitempty"`
}

// simulatedAnswer is a block with what became of its calls.
type simulatedAnswer struct {
	*api.Block
	Calls []*simulatedCall `json:"calls"`
}

// run executes the block. Its header is complete then.
func (r *simulatedRun) run(ctx context.Context) (any, error) {
	env, precompiles := r.env()
	if err := r.block.StateOverrides.apply(r.s.db, precompiles); err != nil {
		return nil, err
	}
	// From Amsterdam on, the protocol logs transfers itself.
	config, h := r.s.Config(), r.header
	r.tracer = &transfers{on: r.s.o.TraceTransfers && !config.IsAmsterdam(h.Number, h.Time), number: h.Number.Uint64(), time: h.Time}
	r.shown = state.NewHookedState(r.s.db, r.tracer.hooks())
	r.evm = vm.NewEVM(env, r.shown, config, vm.Config{NoBaseFee: !r.s.o.Validation, Tracer: r.tracer.hooks()})
	defer r.evm.Release()
	r.evm.SetPrecompiles(precompiles)
	defer watch(ctx, r.evm)()
	r.pool, r.accesses, r.calls = core.NewGasPool(h.GasLimit), bal.NewConstructionBlockAccessList(), []*simulatedCall{}
	r.accesses.Merge(core.PreExecution(ctx, h.ParentBeaconRoot, r.parent, config, r.evm, h.Number, h.Time))
	for i := range r.block.Calls {
		if err := r.call(ctx, i, r.block.Calls[i]); err != nil {
			return nil, err
		}
	}
	return r.finish(ctx)
}

// env is the block as its calls see it.
func (r *simulatedRun) env() (vm.BlockContext, vm.PrecompiledContracts) {
	config, h := r.s.Config(), r.header
	h.ParentHash = r.parent.Hash()
	if config.IsLondon(h.Number) && h.BaseFee == nil {
		h.BaseFee = new(big.Int) // without validation gas is free
		if r.s.o.Validation {
			h.BaseFee = eip1559.CalcBaseFee(config, r.parent)
		}
	}
	if config.IsCancun(h.Number, h.Time) {
		var excess uint64
		if config.IsCancun(r.parent.Number, r.parent.Time) {
			excess = eip4844.CalcExcessBlobGas(config, r.parent, h.Time)
		}
		h.ExcessBlobGas = &excess
	}
	env := core.NewEVMBlockContext(h, r.s, nil)
	if fee := r.block.BlockOverrides.BlobBaseFee; fee != nil {
		env.BlobBaseFee = fee.ToInt()
	}
	contracts := vm.ActivePrecompiledContracts(config.Rules(h.Number, h.Difficulty.Sign() == 0, h.Time))
	r.s.m.signatures().ApplyTo(contracts)
	return env, contracts
}

// call executes a call as the block's next transaction.
func (r *simulatedRun) call(ctx context.Context, index int, m message) error {
	if ctx.Err() != nil {
		return r.s.m.aborted(ctx)
	}
	db, config := r.s.db, r.s.Config()
	capped, err := r.complete(&m)
	if err != nil {
		return err
	}
	if !r.s.o.Validation && db.GetNonce(m.From) == math.MaxUint64 {
		return refusal(fmt.Errorf("%w: address %v, nonce: %d", core.ErrNonceMax, m.From.Hex(), uint64(math.MaxUint64)))
	}
	msg := m.checked(r.header.BaseFee, 0)
	tx := m.transaction(msg, config.ChainID, r.header.BaseFee != nil)
	if !r.s.o.Validation {
		msg.SkipNonceCheck().SkipExecutionGasCapCheck()
	}
	r.txs, r.senders = append(r.txs, tx), append(r.senders, m.From)
	r.tracer.begin(tx.Hash(), index)
	db.SetTxContext(tx.Hash(), index, uint32(index+1))
	result, err := core.ApplyMessage(r.evm, msg, r.pool)
	switch {
	case r.evm.Cancelled():
		return refusal(r.s.m.aborted(ctx))
	case err != nil:
		return refusal(fmt.Errorf("err: %w (supplied gas %d)", err, msg.GasLimit))
	}
	r.settle(tx, result)
	if result.UsedGas > r.s.gas {
		return fmt.Errorf("RPC gas cap exhausted: need %d, remaining %d", result.UsedGas, r.s.gas)
	}
	r.s.gas -= result.UsedGas
	r.note(result, capped)
	return db.Error()
}

// settle ends the transaction, and makes its receipt.
func (r *simulatedRun) settle(tx *types.Transaction, result *core.ExecutionResult) {
	var root []byte
	if r.s.Config().IsByzantium(r.header.Number) {
		r.accesses.Merge(r.shown.Finalise(r.evm.GetRules()))
	} else {
		root = r.s.db.IntermediateRoot(r.evm.GetRules()).Bytes()
	}
	receipt := core.MakeReceipt(r.evm, result, r.s.db, r.header.Number, common.Hash{}, r.header.Time, tx, r.pool.CumulativeUsed(), root)
	r.receipts, r.blobGas = append(r.receipts, receipt), r.blobGas+receipt.BlobGasUsed
}

// note keeps what became of a call.
func (r *simulatedRun) note(result *core.ExecutionResult, capped bool) {
	c := &simulatedCall{
		ReturnData: result.Return(), Logs: r.tracer.collected(), GasUsed: hexutil.Uint64(result.UsedGas),
		MaxUsedGas: hexutil.Uint64(result.MaxUsedGas), Status: hexutil.Uint64(types.ReceiptStatusSuccessful),
	}
	r.calls = append(r.calls, c)
	if !result.Failed() {
		r.logs = append(r.logs, c.Logs...)
		return
	}
	c.Status = hexutil.Uint64(types.ReceiptStatusFailed)
	if errors.Is(result.Err, vm.ErrExecutionReverted) {
		e := jsonrpc.AsError(reverted(result.Revert()))
		c.Error = &callError{Message: e.Message, Code: e.Code, Data: e.Data}
		return
	}
	c.Error = &callError{Message: result.Err.Error(), Code: vmError}
	if capped {
		c.Error.Message += " (gas limit was capped by the RPC server's global gas cap)"
	}
}

// complete gives a call a nonce and gas. It reports whether it has less gas than it named.
func (r *simulatedRun) complete(m *message) (capped bool, err error) {
	if m.Nonce == nil {
		nonce := r.s.db.GetNonce(m.From)
		m.Nonce = (*hexutil.Uint64)(&nonce)
	}
	amsterdam := r.s.Config().IsAmsterdam(r.header.Number, r.header.Time)
	left := r.pool.Available(amsterdam)
	if amsterdam && !r.s.o.Validation {
		left = min(left, r.header.GasLimit-r.pool.CumulativeExecution())
	}
	gas := left
	if m.Gas != nil {
		gas = uint64(*m.Gas)
	}
	if left < gas {
		return false, jsonrpc.Errorf(blockGasReached, "block gas limit reached: remaining: %d, required: %d", left, gas)
	}
	m.Gas = seconds(min(gas, r.s.gas))
	return gas > r.s.gas, m.judge(r.s.Config().ChainID, r.header.BaseFee)
}

// finish assembles the block.
func (r *simulatedRun) finish(ctx context.Context) (any, error) {
	config, h := r.s.Config(), r.header
	h.GasUsed = r.pool.Used()
	if config.IsCancun(h.Number, h.Time) {
		h.BlobGasUsed = &r.blobGas
	}
	body := &types.Body{Transactions: r.txs}
	if config.IsShanghai(h.Number, h.Time) {
		body.Withdrawals = types.Withdrawals{}
		if w := r.block.BlockOverrides.Withdrawals; w != nil {
			body.Withdrawals = *w
		}
	}
	requests, accesses, err := core.PostExecution(ctx, config, h.Number, h.Time, r.logs, body.Withdrawals, r.evm, uint32(len(r.block.Calls)+1))
	if err != nil {
		return nil, err
	}
	if requests != nil {
		hash := types.CalcRequestsHash(requests)
		h.RequestsHash = &hash
	}
	r.accesses.Merge(accesses)
	r.s.Engine().Finalize(r.s, h, r.s.db, body)
	b := core.AssembleBlock(r.s, h, r.s.db, body, r.receipts, r.accesses)
	for _, c := range r.calls {
		for _, l := range c.Logs {
			l.BlockHash = b.Hash()
		}
	}
	r.header = b.Header()
	return &simulatedAnswer{api.NewSimulated(b, r.s.o.ReturnFullTransactions, r.senders), r.calls}, nil
}

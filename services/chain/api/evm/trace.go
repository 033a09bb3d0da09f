package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// traced is the trace of one transaction of a block.
type traced struct {
	TxHash common.Hash     `json:"txHash"`
	Result json.RawMessage `json:"result"`
}

func (m *methods) traceTransaction(ctx context.Context, params []byte) (any, error) {
	var hash common.Hash
	var o traceOptions
	if err := jsonrpc.Params(params, 1, &hash, &o); err != nil {
		return nil, err
	}
	block, index, err := m.node.For(ctx).FindTransaction(hash)
	if err == nil && block == nil {
		err = errors.New("transaction not found")
	}
	if err != nil {
		return nil, err
	}
	traces, err := m.trace(ctx, block, index, index+1, &o)
	if err != nil {
		return nil, err
	}
	return traces[0].Result, nil
}

func (m *methods) traceBlockByNumber(ctx context.Context, params []byte) (any, error) {
	var number rpc.BlockNumber
	var o traceOptions
	if err := jsonrpc.Params(params, 1, &number, &o); err != nil {
		return nil, err
	}
	return m.traceBlock(ctx, rpc.BlockNumberOrHashWithNumber(number), &o)
}

func (m *methods) traceBlockByHash(ctx context.Context, params []byte) (any, error) {
	var hash common.Hash
	var o traceOptions
	if err := jsonrpc.Params(params, 1, &hash, &o); err != nil {
		return nil, err
	}
	return m.traceBlock(ctx, rpc.BlockNumberOrHashWithHash(hash, true), &o)
}

// traceBlockOf is traceBlockByHash of a block that the client has in RLP.
func (m *methods) traceBlockOf(ctx context.Context, params []byte) (any, error) {
	var raw hexutil.Bytes
	var o traceOptions
	if err := jsonrpc.Params(params, 1, &raw, &o); err != nil {
		return nil, err
	}
	block := new(types.Block)
	if err := rlp.DecodeBytes(raw, block); err != nil {
		return nil, fmt.Errorf("could not decode block: %w", err)
	}
	return m.traceBlock(ctx, rpc.BlockNumberOrHashWithHash(block.Hash(), true), &o)
}

func (m *methods) traceBlock(ctx context.Context, at rpc.BlockNumberOrHash, o *traceOptions) (any, error) {
	block, err := m.node.Find(ctx, at)
	if err == nil && block == nil {
		err = fmt.Errorf("block %s not found", at.String())
	}
	if err != nil {
		return nil, err
	}
	return m.trace(ctx, block, 0, len(block.Transactions()), o)
}

// trace executes a block again over the state of its parent, up to its last traced transaction, and
// returns the traces from the first on.
func (m *methods) trace(ctx context.Context, block *api.Sealed, first, last int, o *traceOptions) ([]traced, error) {
	header := block.Header()
	if header.Number.Sign() == 0 {
		return nil, errors.New("genesis is not traceable")
	}
	ctx, done, err := m.beginTrace(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := m.rerun(ctx, block)
	if err != nil {
		return nil, err
	}
	defer r.plain.Release()
	traces, left := []traced{}, m.o.MaxTrace
	for i, tx := range block.Transactions()[:last] {
		if i < first {
			if err := r.run(ctx, r.plain, i); err != nil {
				return nil, err
			}
			continue
		}
		result, err := r.trace(ctx, i, o, left)
		if err != nil {
			return nil, err
		}
		left -= len(result)
		traces = append(traces, traced{tx.Hash(), result})
	}
	return traces, nil
}

// rerun is a block that is being executed again.
type rerun struct {
	m      *methods
	chain  *ancestors
	block  *api.Sealed
	header *types.Header
	db     *state.StateDB
	gas    *core.GasPool
	plain  *vm.EVM // without a tracer
}

// rerun begins a block over the state of its parent. The caller releases its plain EVM.
func (m *methods) rerun(ctx context.Context, block *api.Sealed) (*rerun, error) {
	header := block.Header()
	db, parent, err := m.node.State(ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(header.Number.Int64()-1)))
	if err != nil {
		return nil, err
	}
	r := &rerun{m: m, chain: m.chain.anew(ctx), block: block, header: header, db: db, gas: core.NewGasPool(header.GasLimit)}
	r.plain = r.evm(vm.Config{})
	core.PreExecution(ctx, header.ParentBeaconRoot, parent, m.chain.Config(), r.plain, header.Number, header.Time)
	return r, nil
}

// evm returns the block's EVM. The caller releases it.
func (r *rerun) evm(c vm.Config) *vm.EVM {
	db := vm.StateDB(r.db)
	if c.Tracer != nil {
		db = state.NewHookedState(r.db, c.Tracer)
	}
	evm := vm.NewEVM(core.NewEVMBlockContext(r.header, r.chain, nil), db, r.m.chain.Config(), c)
	r.m.signatures().SetIn(evm)
	return evm
}

// run executes the next transaction.
func (r *rerun) run(ctx context.Context, evm *vm.EVM, index int) error {
	tx := r.block.Transactions()[index]
	msg, err := execution.Message(tx, r.block.Signer, r.header.BaseFee, r.m.node.Impersonated != nil)
	if err != nil {
		return err
	}
	r.db.SetTxContext(tx.Hash(), index, uint32(index+1))
	defer watch(ctx, evm)()
	_, _, err = core.ApplyTransactionWithEVM(ctx, msg, r.gas, r.db, r.header.Number, r.block.Hash(), r.header.Time, tx, evm)
	switch {
	case r.chain.missed != nil:
		return r.chain.missed
	case r.db.Error() != nil:
		return r.db.Error()
	case evm.Cancelled():
		return r.m.aborted(ctx)
	case err != nil:
		return fmt.Errorf("tracing failed: %w", err)
	}
	return nil
}

// trace executes the next transaction and returns its trace, of at most the given bytes.
func (r *rerun) trace(ctx context.Context, index int, o *traceOptions, most int) (json.RawMessage, error) {
	at := &tracers.Context{BlockHash: r.block.Hash(), BlockNumber: r.header.Number, TxIndex: index, TxHash: r.block.Transactions()[index].Hash()}
	t, err := newTracer(o, at, r.m.chain.Config(), most)
	if err != nil {
		return nil, err
	}
	evm := r.evm(vm.Config{Tracer: t.Hooks})
	defer evm.Release()
	if err := r.run(ctx, evm, index); err != nil {
		return nil, err
	}
	return t.finish()
}

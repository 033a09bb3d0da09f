package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// callTraceOptions are those of a trace of a call, which may see other accounts and another block,
// and may be executed in front of a transaction of the block.
type callTraceOptions struct {
	traceOptions
	StateOverrides accounts      `json:"stateOverrides"`
	BlockOverrides block         `json:"blockOverrides"`
	TxIndex        *hexutil.Uint `json:"txIndex"`
}

// traceCall traces a call as if it were a transaction after a block.
func (m *methods) traceCall(ctx context.Context, params []byte) (any, error) {
	s := &scene{}
	var at rpc.BlockNumberOrHash
	var o callTraceOptions
	if err := jsonrpc.Params(params, 2, &s.message, &at, &o); err != nil {
		return nil, err
	}
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		return nil, errPending
	}
	ctx, done, err := m.beginTrace(ctx, &o.traceOptions)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := m.stage(ctx, s, at, o.TxIndex); err != nil {
		return nil, err
	}
	if n := o.BlockOverrides.Number; n != nil && new(big.Int).Sub(n.ToInt(), s.original.Number).Cmp(big.NewInt(1)) == 0 {
		// The call sees the hash of the block that it follows.
		next := types.CopyHeader(s.original)
		next.ParentHash, next.Number = s.original.Hash(), n.ToInt()
		s.original = next
	}
	if err := m.set(s, o.StateOverrides, &o.BlockOverrides); err != nil {
		return nil, err
	}
	t, err := newTracer(&o.traceOptions, new(tracers.Context), m.chain.Config(), m.o.MaxTrace)
	if err != nil {
		return nil, err
	}
	msg, env := m.prepare(ctx, s)
	evm := vm.NewEVM(env, state.NewHookedState(s.db, t.Hooks), m.chain.Config(), vm.Config{Tracer: t.Hooks, NoBaseFee: true})
	defer evm.Release()
	evm.SetPrecompiles(s.precompiles)
	defer watch(ctx, evm)()
	tx := s.message.transaction(msg, m.chain.Config().ChainID, s.baseFee != nil)
	s.db.SetTxContext(common.Hash{}, 0, 1)
	_, _, err = core.ApplyTransactionWithEVM(ctx, msg.SkipExecutionGasCapCheck(), core.NewGasPool(msg.GasLimit), s.db, env.BlockNumber, common.Hash{}, env.Time, tx, evm)
	switch {
	case s.failed() != nil:
		return nil, s.failed()
	case evm.Cancelled():
		return nil, m.aborted(ctx)
	case err != nil:
		return nil, fmt.Errorf("tracing failed: %w", err)
	}
	return t.finish()
}

// stage gives a scene the state after a block, or that in front of one of its transactions.
func (m *methods) stage(ctx context.Context, s *scene, at rpc.BlockNumberOrHash, before *hexutil.Uint) (err error) {
	if before == nil {
		s.db, s.original, err = m.node.State(ctx, at)
		return err
	}
	sealed, err := m.node.Find(ctx, at)
	switch {
	case err != nil:
		return err
	case sealed == nil:
		return fmt.Errorf("block %s not found", at.String())
	case sealed.NumberU64() == 0:
		return errors.New("no transaction in genesis")
	}
	index := int(min(uint64(*before), 1<<31))
	if count := len(sealed.Transactions()); index >= count && index+count > 0 {
		return fmt.Errorf("transaction index %d out of range for block %#x", index, sealed.Hash())
	}
	r, err := m.rerun(ctx, sealed)
	if err != nil {
		return err
	}
	defer r.plain.Release()
	for i := range index {
		if err := r.run(ctx, r.plain, i); err != nil {
			return err
		}
	}
	s.db, s.original = r.db, sealed.Header()
	return nil
}

package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/console"
	"dyno/services/chain/jsonrpc"
)

// scene is where a call is executed.
type scene struct {
	message     message
	header      *types.Header // as the call sees it
	original    *types.Header
	db          *state.StateDB
	chain       *ancestors   // of the execution
	baseFee     *big.Int     // by which the call's prices are meant; nil: those of before London
	blobBaseFee *big.Int     // nil: the header's
	random      *common.Hash // nil: the header's, if it is of proof of stake
	precompiles vm.PrecompiledContracts
	lines       *console.Lines // that contracts print; nil: they are not read
}

// scene reads the parameters of eth_call and eth_estimateGas, and the block where they name one.
func (m *methods) scene(ctx context.Context, params []byte, at rpc.BlockNumberOrHash) (*scene, error) {
	s := &scene{}
	var changed accounts
	var seen block
	if err := jsonrpc.Params(params, 1, &s.message, &at, &changed, &seen); err != nil {
		return nil, err
	}
	if err := s.message.judgeBlobFee(); err != nil {
		return nil, err
	}
	var err error
	if s.db, s.original, err = m.node.State(ctx, at); err != nil {
		return nil, err
	}
	return s, m.set(s, changed, &seen)
}

// set changes what the call of a scene sees, and judges the call.
func (m *methods) set(s *scene, changed accounts, seen *block) (err error) {
	if s.header, err = seen.apply(s.original, m.chain.Config()); err != nil {
		return err
	}
	if seen.BlobBaseFee != nil {
		s.blobBaseFee = seen.BlobBaseFee.ToInt()
	}
	s.baseFee = s.original.BaseFee // whatever fork an overridden number means
	if seen.BaseFeePerGas != nil {
		s.baseFee = seen.BaseFeePerGas.ToInt()
	}
	if err := s.message.judge(m.chain.Config().ChainID, s.baseFee); err != nil {
		return err
	}
	s.random = seen.PrevRandao
	s.precompiles = m.precompiles(s)
	return changed.apply(s.db, s.precompiles)
}

// precompiles are the precompiled contracts that the call of a scene sees.
func (m *methods) precompiles(s *scene) vm.PrecompiledContracts {
	rules := m.chain.Config().Rules(s.header.Number, s.header.Difficulty.Sign() == 0 || s.random != nil, s.header.Time)
	all := vm.ActivePrecompiledContracts(rules)
	m.signatures().ApplyTo(all)
	return all
}

func (m *methods) call(ctx context.Context, params []byte) (any, error) {
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := m.scene(ctx, params, api.Latest())
	if err != nil {
		return nil, err
	}
	result, err := m.print(ctx, s, "eth_call")
	switch {
	case err != nil:
		return nil, err
	case errors.Is(result.Err, vm.ErrExecutionReverted):
		return nil, reverted(result.Revert())
	case result.Err != nil:
		return nil, result.Err
	}
	return hexutil.Bytes(result.ReturnData), nil
}

// mostGas bounds a call on a test chain, whose clients set the gas of its blocks: memory of this gas has 200 MB.
const mostGas = 1 << 36

// gas is the most that a call has: on a test chain, also that of the next block.
func (m *methods) gas() uint64 {
	if m.node.GasLimit == nil {
		return m.o.Gas
	}
	return max(m.o.Gas, min(m.node.GasLimit(), mostGas))
}

// prepare returns the message of a call, and the block that it sees.
func (m *methods) prepare(ctx context.Context, s *scene) (*core.Message, vm.BlockContext) {
	most := m.gas()
	msg := s.message.core(s.baseFee, most)
	msg.GasLimit = min(msg.GasLimit, most)
	s.chain = m.chain.anew(ctx)
	env := core.NewEVMBlockContext(s.header, s.chain, nil)
	env.GetHash = core.GetHashFn(s.original, s.chain)
	if s.random != nil {
		env.Random = s.random
	}
	if s.blobBaseFee != nil {
		env.BlobBaseFee = s.blobBaseFee
	}
	if msg.GasPrice.IsZero() {
		env.BaseFee = new(big.Int) // gas is free
	}
	if msg.BlobGasFeeCap != nil && msg.BlobGasFeeCap.IsZero() {
		env.BlobBaseFee = new(big.Int)
	}
	return msg, env
}

// failed is why what was executed could not read the chain.
func (s *scene) failed() error { return cmp.Or(s.chain.missed, s.db.Error()) }

// execute executes a call once.
func (m *methods) execute(ctx context.Context, s *scene) (*core.ExecutionResult, error) {
	msg, env := m.prepare(ctx, s)
	return m.apply(ctx, s, msg.SkipExecutionGasCapCheck(), env, s.lines.Hooks(), core.NewGasPool(msg.GasLimit), func(err error) error {
		return fmt.Errorf("err: %w (supplied gas %d)", err, msg.GasLimit)
	})
}

// apply executes a message; unfit says what to answer where it cannot be executed.
func (m *methods) apply(ctx context.Context, s *scene, msg *core.Message, env vm.BlockContext, t *tracing.Hooks, pool *core.GasPool, unfit func(error) error) (*core.ExecutionResult, error) {
	evm := vm.NewEVM(env, s.db, m.chain.Config(), vm.Config{NoBaseFee: true, Tracer: t})
	defer evm.Release()
	evm.SetPrecompiles(s.precompiles)
	defer watch(ctx, evm)()
	result, err := core.ApplyMessage(evm, msg, pool)
	switch {
	case s.failed() != nil:
		return nil, s.failed()
	case evm.Cancelled():
		return nil, m.aborted(ctx)
	case err != nil:
		return nil, unfit(err)
	}
	return result, nil
}

// print is execute for a method, and shows what contracts print.
func (m *methods) print(ctx context.Context, s *scene, of string) (*core.ExecutionResult, error) {
	if m.o.Console == nil {
		return m.execute(ctx, s)
	}
	s.lines = console.New(of)
	result, err := m.execute(ctx, s)
	m.o.Console(s.lines.Take())
	return result, err
}

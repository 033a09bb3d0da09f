package evm

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/gasestimator"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"dyno/services/chain/api"
)

// overshoot is the share by which an estimate may be above the least gas, as in go-ethereum. It
// saves executions.
const overshoot = 0.015

func (m *methods) estimateGas(ctx context.Context, params []byte) (any, error) {
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	at := api.Latest()
	if m.o.Next {
		at = rpc.BlockNumberOrHashWithNumber(rpc.PendingBlockNumber)
	}
	s, err := m.scene(ctx, params, at)
	if err != nil {
		return nil, err
	}
	m.overhear(ctx, s)
	if len(m.signatures()) > 0 {
		return m.search(ctx, s)
	}
	chain := m.chain.anew()
	gas, data, err := gasestimator.Estimate(ctx, s.message.core(s.baseFee, 0), &gasestimator.Options{
		Config: m.chain.Config(), Chain: chain, Header: s.header, State: s.db, BlobBaseFee: s.blobBaseFee, ErrorRatio: overshoot,
	}, m.o.Gas)
	switch {
	case chain.missed != nil:
		return nil, chain.missed
	case ctx.Err() != nil: // what the estimator says of executions that were cancelled means nothing
		return nil, m.aborted(ctx)
	case errors.Is(err, vm.ErrExecutionReverted):
		return nil, reverted(data)
	case err != nil:
		return nil, err
	}
	return hexutil.Uint64(gas), nil
}

// overhear executes the call of an estimate for what its contracts print: the estimator does not show its
// executions. The estimate reports what is wrong with the call.
func (m *methods) overhear(ctx context.Context, s *scene) {
	if m.o.Console == nil || s.message.To != nil && s.db.GetCodeSize(*s.message.To) == 0 {
		return
	}
	once := *s
	once.db = s.db.Copy()
	_, _ = m.print(ctx, &once, "eth_estimateGas")
}

// search estimates gas where ecrecover answers accounts that were named, of which the estimator does not
// know: it executes with less and less gas.
func (m *methods) search(ctx context.Context, s *scene) (any, error) {
	high, err := m.affordable(s)
	if err != nil {
		return nil, err
	}
	result, err := m.with(ctx, s, high)
	switch {
	case err != nil:
		return nil, err
	case errors.Is(result.Err, vm.ErrExecutionReverted):
		return nil, reverted(result.Revert())
	case errors.Is(result.Err, vm.ErrOutOfGas):
		return nil, fmt.Errorf("gas required exceeds allowance (%d)", high)
	case result.Err != nil:
		return nil, result.Err
	}
	low := result.UsedGas - 1
	for low+1 < high && float64(high-low) >= overshoot*float64(high) {
		middle := min((low+high)/2, 2*low) // most calls need little more than they use
		result, err := m.with(ctx, s, middle)
		switch {
		case errors.Is(err, core.ErrIntrinsicGas), errors.Is(err, core.ErrFloorDataGas), err == nil && result.Failed():
			low = middle
		case err != nil:
			return nil, err
		default:
			high = middle
		}
	}
	return hexutil.Uint64(high), nil
}

// affordable is the most gas that the sender of a call can pay.
func (m *methods) affordable(s *scene) (uint64, error) {
	gas := s.header.GasLimit
	if s.message.Gas != nil && uint64(*s.message.Gas) >= params.TxGas {
		gas = uint64(*s.message.Gas)
	}
	gas = min(gas, m.o.Gas)
	_, price, _ := s.message.prices(s.baseFee)
	if price.IsZero() {
		return gas, nil
	}
	left, value := new(uint256.Int), number(s.message.Value)
	if _, under := left.SubOverflow(s.db.GetBalance(s.message.From), value); under {
		return 0, core.ErrInsufficientFundsForTransfer
	}
	if left.Div(left, price); left.IsUint64() {
		gas = min(gas, left.Uint64())
	}
	return gas, nil
}

// with executes a call over a copy of its state with some gas.
func (m *methods) with(ctx context.Context, s *scene, gas uint64) (*core.ExecutionResult, error) {
	once := *s
	once.db, once.message.Gas = s.db.Copy(), (*hexutil.Uint64)(&gas)
	return m.execute(ctx, &once)
}

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
	chain := m.chain.anew(ctx)
	gas, data, err := gasestimator.Estimate(ctx, s.message.core(s.baseFee, 0), &gasestimator.Options{
		Config: m.chain.Config(), Chain: chain, Header: s.header, State: s.db, BlobBaseFee: s.blobBaseFee, ErrorRatio: overshoot,
	}, m.gas())
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

// search is the estimator's search where ecrecover answers accounts that were named, of which it does not
// know: with its bounds, its first guesses and its errors, so that a name changes no other estimate.
func (m *methods) search(ctx context.Context, s *scene) (any, error) {
	high, err := m.affordable(s)
	if err != nil {
		return nil, err
	}
	if to := s.message.To; to != nil && len(s.message.Payload()) == 0 && s.db.GetCodeSize(*to) == 0 {
		if result, err := m.with(ctx, s, params.TxGas); err == nil && result != nil && !result.Failed() {
			return hexutil.Uint64(result.UsedGas), nil
		}
	}
	result, err := m.with(ctx, s, high)
	switch {
	case err != nil:
		return nil, err
	case result == nil, errors.Is(result.Err, vm.ErrOutOfGas):
		return nil, fmt.Errorf("gas required exceeds allowance (%d)", high)
	case errors.Is(result.Err, vm.ErrExecutionReverted):
		return nil, reverted(result.Revert())
	case result.Err != nil:
		return nil, result.Err
	}
	low := result.UsedGas - 1
	try := func(gas uint64) error {
		result, err := m.with(ctx, s, gas)
		if err == nil && result != nil && !result.Failed() {
			high = gas
		} else {
			low = gas
		}
		return err
	}
	if likely := (result.MaxUsedGas + params.CallStipend) * 64 / 63; likely < high {
		err = try(likely)
	}
	for err == nil && low+1 < high && float64(high-low)/float64(high) >= overshoot {
		err = try(min(low+(high-low)/2, 2*low)) // most calls need little more than they use
	}
	if err != nil {
		return nil, err
	}
	return hexutil.Uint64(high), nil
}

// affordable is the most gas with which a call is tried: that of its block, or what it names, as far as a
// transaction may have it and its sender can pay it.
func (m *methods) affordable(s *scene) (uint64, error) {
	config, number, time := m.chain.Config(), s.header.Number, s.header.Time
	gas := s.header.GasLimit
	if s.message.Gas != nil && uint64(*s.message.Gas) >= params.TxGas {
		gas = uint64(*s.message.Gas)
	}
	if config.IsOsaka(number, time) && !config.IsAmsterdam(number, time) { // EIP-7825
		gas = min(gas, params.MaxTxGas)
	}
	msg := s.message.core(s.baseFee, 0)
	if msg.GasFeeCap.IsZero() {
		return min(gas, m.gas()), nil
	}
	left := s.db.GetBalance(msg.From).Clone()
	if msg.Value.Cmp(left) >= 0 {
		return 0, core.ErrInsufficientFundsForTransfer
	}
	left.Sub(left, msg.Value)
	if config.IsCancun(number, time) && len(msg.BlobHashes) > 0 {
		blobs := uint256.NewInt(uint64(len(msg.BlobHashes)) * params.BlobTxBlobGasPerBlob)
		if blobs.Mul(blobs, msg.BlobGasFeeCap); blobs.Cmp(left) >= 0 {
			return 0, core.ErrInsufficientFunds
		}
		left.Sub(left, blobs)
	}
	if left.Div(left, msg.GasFeeCap); left.IsUint64() {
		gas = min(gas, left.Uint64())
	}
	return min(gas, m.gas()), nil
}

// with executes a call over a copy of its state with some gas. The result is nil where that does not even
// begin it.
func (m *methods) with(ctx context.Context, s *scene, gas uint64) (*core.ExecutionResult, error) {
	once := *s
	once.db, once.message.Gas = s.db.Copy(), (*hexutil.Uint64)(&gas)
	msg, env := m.prepare(ctx, &once)
	return m.apply(ctx, &once, msg, env, nil, nil, func(err error) error {
		if errors.Is(err, core.ErrIntrinsicGas) {
			return nil
		}
		return fmt.Errorf("failed with %d gas: %w", gas, err)
	})
}

package evm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// Bounds of eth_simulateV1, go-ethereum's.
const (
	mostSimulated = 256    // blocks
	mostInBlock   = 5000   // calls of a block
	mostCalls     = 10_000 // calls of all blocks
	blockSeconds  = 12     // from a block to the next, if a call does not say
)

// Codes of the errors of eth_simulateV1 (execution-apis).
const (
	nonceTooLow       = -38010
	nonceTooHigh      = -38011
	baseFeeTooLow     = -38012
	intrinsicGas      = -38013
	insufficientFunds = -38014
	blockGasReached   = -38015
	invalidNumber     = -38020
	invalidTime       = -38021
	senderIsContract  = -38024
	initCodeTooLarge  = -38025
	tooMuch           = -38026
	vmError           = -32015
)

// simulation is the first parameter of eth_simulateV1.
type simulation struct {
	BlockStateCalls        []simulatedBlock `json:"blockStateCalls"`
	TraceTransfers         bool             `json:"traceTransfers"`
	Validation             bool             `json:"validation"`
	ReturnFullTransactions bool             `json:"returnFullTransactions"`
}

// simulatedBlock is calls that follow each other in a block, and what they see instead of the
// block's header and of the accounts before it.
type simulatedBlock struct {
	BlockOverrides block
	StateOverrides accounts
	Calls          []message
}

// UnmarshalJSON refuses overrides that do not exist.
func (b *simulatedBlock) UnmarshalJSON(text []byte) error {
	var in struct {
		BlockOverrides strict[block]                      `json:"blockOverrides"`
		StateOverrides map[common.Address]strict[account] `json:"stateOverrides"`
		Calls          []message                          `json:"calls"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	b.BlockOverrides, b.Calls, b.StateOverrides = in.BlockOverrides.value, in.Calls, accounts{}
	for at, a := range in.StateOverrides {
		b.StateOverrides[at] = a.value
	}
	return nil
}

// strict is an object that has no members beside those of T.
type strict[T any] struct{ value T }

func (s *strict[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(&s.value)
}

// simulator executes simulated blocks, one after the other, over a state.
type simulator struct {
	*ancestors
	o     *simulation
	m     *methods
	db    *state.StateDB
	base  *types.Header
	above []*types.Header // the simulated ones so far
	gas   uint64          // left for all calls
}

// simulateV1 executes calls in blocks that are not there.
func (m *methods) simulateV1(ctx context.Context, params []byte) (any, error) {
	var o simulation
	at := api.Latest()
	if err := jsonrpc.Params(params, 1, &o, &at); err != nil {
		return nil, err
	}
	if err := o.bounded(); err != nil {
		return nil, err
	}
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s := &simulator{ancestors: m.chain.anew(ctx), o: &o, m: m, gas: m.gas()}
	if s.db, s.base, err = m.node.State(ctx, at); err != nil {
		return nil, err
	}
	blocks, err := s.complete(o.BlockStateCalls)
	if err != nil {
		return nil, err
	}
	headers, err := s.headers(blocks)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(blocks))
	parent := s.base
	for i := range blocks {
		r := &simulatedRun{s: s, block: &blocks[i], header: headers[i], parent: parent}
		result, err := r.run(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, result)
		parent = r.header
		s.above = append(s.above, parent)
	}
	return out, cmp.Or(s.missed, s.db.Error())
}

func (o *simulation) bounded() error {
	switch {
	case len(o.BlockStateCalls) == 0:
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "empty input")
	case len(o.BlockStateCalls) > mostSimulated:
		return jsonrpc.Errorf(tooMuch, "too many blocks")
	}
	calls := 0
	for _, b := range o.BlockStateCalls {
		if len(b.Calls) > mostInBlock {
			return jsonrpc.Errorf(tooMuch, "too many calls in block: %d > %d", len(b.Calls), mostInBlock)
		}
		if calls += len(b.Calls); calls > mostCalls {
			return jsonrpc.Errorf(tooMuch, "too many calls: %d > %d", calls, mostCalls)
		}
	}
	return nil
}

// complete gives each block a number and a time, and fills gaps with empty blocks.
func (s *simulator) complete(blocks []simulatedBlock) (all []simulatedBlock, err error) {
	number, time := s.base.Number, s.base.Time
	for _, b := range blocks {
		o := &b.BlockOverrides
		if o.Number == nil {
			o.Number = (*hexutil.Big)(new(big.Int).Add(number, common.Big1))
		}
		to := o.Number.ToInt()
		if to.Cmp(number) <= 0 {
			return nil, jsonrpc.Errorf(invalidNumber, "block numbers must be in order: %d <= %d", to.Uint64(), number)
		}
		if new(big.Int).Sub(to, s.base.Number).Cmp(big.NewInt(mostSimulated)) > 0 {
			return nil, jsonrpc.Errorf(tooMuch, "too many blocks")
		}
		for n := new(big.Int).Add(number, common.Big1); n.Cmp(to) < 0; n = new(big.Int).Add(n, common.Big1) {
			time += blockSeconds
			all = append(all, simulatedBlock{BlockOverrides: block{Number: (*hexutil.Big)(n), Time: seconds(time)}})
		}
		if o.Time == nil {
			o.Time = seconds(time + blockSeconds)
		}
		if uint64(*o.Time) <= time {
			return nil, jsonrpc.Errorf(invalidTime, "block timestamps must be in order: %d <= %d", uint64(*o.Time), time)
		}
		number, time = to, uint64(*o.Time)
		all = append(all, b)
	}
	return all, nil
}

func seconds(n uint64) *hexutil.Uint64 { return (*hexutil.Uint64)(&n) }

// headers begins the headers of blocks, as far as they do not follow from execution.
func (s *simulator) headers(blocks []simulatedBlock) ([]*types.Header, error) {
	config, out, last := s.Config(), make([]*types.Header, len(blocks)), s.base
	for i, b := range blocks {
		number, time := b.BlockOverrides.Number.ToInt(), uint64(*b.BlockOverrides.Time)
		h := &types.Header{
			UncleHash: types.EmptyUncleHash, ReceiptHash: types.EmptyReceiptsHash, TxHash: types.EmptyTxsHash,
			Coinbase: last.Coinbase, Difficulty: last.Difficulty, GasLimit: last.GasLimit, Number: number, Time: time,
		}
		if config.IsPostMerge(number.Uint64(), time) {
			h.Difficulty = new(big.Int)
		}
		if b.BlockOverrides.Difficulty != nil && h.Difficulty.Sign() == 0 {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "block %d: difficulty override is not allowed after the merge", number)
		}
		if config.IsShanghai(number, time) {
			h.WithdrawalsHash = &types.EmptyWithdrawalsHash
		}
		if config.IsCancun(number, time) {
			h.ParentBeaconRoot = new(common.Hash)
			if b.BlockOverrides.BeaconRoot != nil {
				h.ParentBeaconRoot = b.BlockOverrides.BeaconRoot
			}
		}
		if last.SlotNumber != nil {
			slot := *last.SlotNumber + 1
			h.SlotNumber = &slot
		}
		b.BlockOverrides.change(h)
		out[i], last = h, h
	}
	return out, nil
}

// GetHeader shows the simulated headers to the EVM, too.
func (s *simulator) GetHeader(hash common.Hash, n uint64) *types.Header {
	for _, h := range append([]*types.Header{s.base}, s.above...) {
		if h.Number.Uint64() == n && h.Hash() == hash {
			return h
		}
	}
	return s.ancestors.GetHeader(hash, n)
}

// refusal is the error of a call that no block could have.
func refusal(err error) error {
	for _, c := range []struct {
		is   error
		code int
	}{
		{core.ErrNonceTooHigh, nonceTooHigh}, {core.ErrNonceTooLow, nonceTooLow}, {core.ErrSenderNoEOA, senderIsContract},
		{core.ErrFeeCapVeryHigh, jsonrpc.InvalidParams}, {core.ErrTipVeryHigh, jsonrpc.InvalidParams}, {core.ErrTipAboveFeeCap, jsonrpc.InvalidParams},
		{core.ErrFeeCapTooLow, baseFeeTooLow}, {core.ErrInsufficientFunds, insufficientFunds}, {core.ErrIntrinsicGas, intrinsicGas},
		{core.ErrInsufficientFundsForTransfer, insufficientFunds}, {vm.ErrMaxInitCodeSizeExceeded, initCodeTooLarge},
	} {
		if errors.Is(err, c.is) {
			return jsonrpc.Errorf(c.code, "%v", err)
		}
	}
	return jsonrpc.Errorf(jsonrpc.InternalError, "%v", err)
}

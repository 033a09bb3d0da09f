package evm

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
)

// account is what a call sees of an account instead of what the state has.
type account struct {
	Nonce     *hexutil.Uint64             `json:"nonce"`
	Code      *hexutil.Bytes              `json:"code"`
	Balance   *hexutil.Big                `json:"balance"`
	State     map[common.Hash]common.Hash `json:"state"`     // all slots
	StateDiff map[common.Hash]common.Hash `json:"stateDiff"` // these slots
	MoveTo    *common.Address             `json:"movePrecompileToAddress"`
}

// accounts are the third parameter of eth_call.
type accounts map[common.Address]account

// apply changes a state and the precompiled contracts.
func (all accounts) apply(db *state.StateDB, precompiles vm.PrecompiledContracts) error {
	if len(all) == 0 {
		return nil
	}
	for _, at := range slices.SortedFunc(maps.Keys(all), common.Address.Cmp) {
		a := all[at]
		if a.State != nil && a.StateDiff != nil {
			return fmt.Errorf("account %s has both 'state' and 'stateDiff'", at)
		}
		if a.MoveTo != nil {
			if err := all.move(at, *a.MoveTo, precompiles); err != nil {
				return err
			}
		}
		delete(precompiles, at)
		a.apply(db, at)
	}
	db.Finalise(params.Rules{}) // as after a transaction before the call
	return nil
}

// move gives a precompiled contract another address.
func (all accounts) move(from, to common.Address, precompiles vm.PrecompiledContracts) error {
	contract, ok := precompiles[from]
	if !ok {
		return fmt.Errorf("account %s is not a precompile", from)
	}
	if _, ok := all[to]; ok {
		return fmt.Errorf("account %s is already overridden", to)
	}
	precompiles[to] = contract
	return nil
}

func (a *account) apply(db *state.StateDB, at common.Address) {
	if a.Nonce != nil {
		db.SetNonce(at, uint64(*a.Nonce), tracing.NonceChangeUnspecified)
	}
	if a.Code != nil {
		db.SetCode(at, *a.Code, tracing.CodeChangeUnspecified)
	}
	if a.Balance != nil {
		db.SetBalance(at, number(a.Balance), tracing.BalanceChangeUnspecified)
	}
	if a.State != nil {
		db.SetStorage(at, a.State)
	}
	for slot, value := range a.StateDiff {
		db.SetState(at, slot, value)
	}
}

// block is what a call sees of its block instead of what the header has.
type block struct {
	Number        *hexutil.Big       `json:"number"`
	Difficulty    *hexutil.Big       `json:"difficulty"` // without effect in a block of proof of stake
	Time          *hexutil.Uint64    `json:"time"`
	GasLimit      *hexutil.Uint64    `json:"gasLimit"`
	FeeRecipient  *common.Address    `json:"feeRecipient"`
	PrevRandao    *common.Hash       `json:"prevRandao"`
	BaseFeePerGas *hexutil.Big       `json:"baseFeePerGas"`
	BlobBaseFee   *hexutil.Big       `json:"blobBaseFee"`
	BeaconRoot    *common.Hash       `json:"beaconRoot"`
	Withdrawals   *types.Withdrawals `json:"withdrawals"`
}

// apply returns the header that the call sees.
func (o *block) apply(header *types.Header, config *params.ChainConfig) (*types.Header, error) {
	switch {
	case o.BeaconRoot != nil:
		return nil, errors.New(`block override "beaconRoot" is not supported for this RPC method`)
	case o.Withdrawals != nil:
		return nil, errors.New(`block override "withdrawals" is not supported for this RPC method`)
	}
	h := types.CopyHeader(header)
	o.change(h)
	fit(h, config)
	return h, nil
}

// change sets members of a header.
func (o *block) change(h *types.Header) {
	if o.Number != nil {
		h.Number = o.Number.ToInt()
	}
	if o.Difficulty != nil && h.Difficulty.Sign() != 0 {
		h.Difficulty = o.Difficulty.ToInt()
	}
	if o.Time != nil {
		h.Time = uint64(*o.Time)
	}
	if o.GasLimit != nil {
		h.GasLimit = uint64(*o.GasLimit)
	}
	if o.FeeRecipient != nil {
		h.Coinbase = *o.FeeRecipient
	}
	if o.PrevRandao != nil {
		h.MixDigest = *o.PrevRandao
	}
	if o.BaseFeePerGas != nil {
		h.BaseFee = o.BaseFeePerGas.ToInt()
	}
}

// fit gives a header the members that its fork has: another number or time may mean another fork,
// and the EVM panics where one is missing.
func fit(h *types.Header, config *params.ChainConfig) {
	switch {
	case !config.IsLondon(h.Number):
		h.BaseFee = nil
	case h.BaseFee == nil:
		h.BaseFee = new(big.Int)
	}
	switch {
	case !config.IsCancun(h.Number, h.Time):
		h.ExcessBlobGas = nil
	case h.ExcessBlobGas == nil:
		h.ExcessBlobGas = new(uint64)
	}
}

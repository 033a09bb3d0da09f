package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"dyno/services/chain/api"
)

// arguments are a transaction to be made.
type arguments struct {
	api.Arguments
	Blobs []hexutil.Bytes `json:"blobs,omitzero"`
}

// judge refuses what cannot be a transaction of this chain, with go-ethereum's words.
func (a *arguments) judge(chainID *big.Int, london bool) error {
	dynamic := a.MaxFeePerGas != nil || a.MaxPriorityFeePerGas != nil
	switch {
	case a.BlobFeeCap != nil || a.BlobHashes != nil || a.Blobs != nil:
		return errors.New("signing blob transactions not supported")
	case a.GasPrice != nil && dynamic:
		return errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
	case a.GasPrice != nil && a.AuthorizationList != nil:
		return errors.New("both gasPrice and authorizationList specified")
	case dynamic && !london:
		return errors.New("maxFeePerGas and maxPriorityFeePerGas are not valid before London is active")
	case a.Data != nil && a.Input != nil && !bytes.Equal(*a.Data, *a.Input):
		return errors.New(`both "data" and "input" are set and not equal. Please use "input" to pass transaction call data`)
	case a.To == nil && len(a.Payload()) == 0:
		return errors.New("contract creation without any data provided")
	case a.To == nil && a.AuthorizationList != nil:
		return errors.New(`authorizationList provided for contract creation, but "to" field is missing`)
	case a.ChainID != nil && a.ChainID.ToInt().Cmp(chainID) != 0:
		return fmt.Errorf("chainId does not match node's (have=%v, want=%v)", a.ChainID.ToInt(), chainID)
	case a.MaxFeePerGas != nil && a.MaxFeePerGas.ToInt().BitLen() > 256: // twice the base fee and the tip
		return fmt.Errorf("%w: maxFeePerGas bit length: %d", core.ErrFeeCapVeryHigh, a.MaxFeePerGas.ToInt().BitLen())
	case a.MaxFeePerGas != nil && a.MaxPriorityFeePerGas != nil && a.MaxFeePerGas.ToInt().Cmp(a.MaxPriorityFeePerGas.ToInt()) < 0:
		return fmt.Errorf("maxFeePerGas (%v) < maxPriorityFeePerGas (%v)", a.MaxFeePerGas, a.MaxPriorityFeePerGas)
	}
	return nil
}

// transaction is the transaction, once nothing is missing.
func (a *arguments) transaction(chainID *big.Int) *types.Transaction {
	list := a.AccessList
	if list == nil {
		list = types.AccessList{}
	}
	nonce, gas, value := uint64(*a.Nonce), uint64(*a.Gas), a.Value.ToInt()
	switch {
	case a.AuthorizationList != nil:
		return types.NewTx(&types.SetCodeTx{
			To: *a.To, ChainID: uint256.MustFromBig(chainID), Nonce: nonce, Gas: gas, Value: uint256.MustFromBig(value), Data: a.Payload(), AccessList: list,
			GasFeeCap: uint256.MustFromBig(a.MaxFeePerGas.ToInt()), GasTipCap: uint256.MustFromBig(a.MaxPriorityFeePerGas.ToInt()), AuthList: a.AuthorizationList,
		})
	case a.GasPrice == nil:
		return types.NewTx(&types.DynamicFeeTx{
			To: a.To, ChainID: chainID, Nonce: nonce, Gas: gas, Value: value, Data: a.Payload(), AccessList: list,
			GasFeeCap: a.MaxFeePerGas.ToInt(), GasTipCap: a.MaxPriorityFeePerGas.ToInt(),
		})
	case a.AccessList != nil:
		return types.NewTx(&types.AccessListTx{To: a.To, ChainID: chainID, Nonce: nonce, Gas: gas, GasPrice: a.GasPrice.ToInt(), Value: value, Data: a.Payload(), AccessList: list})
	}
	return types.NewTx(&types.LegacyTx{To: a.To, Nonce: nonce, Gas: gas, GasPrice: a.GasPrice.ToInt(), Value: value, Data: a.Payload()})
}

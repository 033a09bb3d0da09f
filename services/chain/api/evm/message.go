package evm

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"dyno/services/chain/api"
)

// message is the parameter that describes a call: a transaction without signature.
type message struct{ api.Arguments }

// judge refuses what no transaction can be, with go-ethereum's words.
func (m *message) judge(chainID, baseFee *big.Int) error {
	dynamic := m.MaxFeePerGas != nil || m.MaxPriorityFeePerGas != nil
	switch {
	case m.GasPrice != nil && dynamic:
		return errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
	case m.MaxFeePerGas != nil && m.MaxFeePerGas.ToInt().BitLen() > 256: // twice the base fee and the tip
		return fmt.Errorf("%w: maxFeePerGas bit length: %d", core.ErrFeeCapVeryHigh, m.MaxFeePerGas.ToInt().BitLen())
	case m.To == nil && m.BlobHashes != nil:
		return core.ErrBlobTxCreate
	case m.To == nil && m.AuthorizationList != nil:
		return core.ErrSetCodeTxCreate
	case m.ChainID != nil && m.ChainID.ToInt().Cmp(chainID) != 0:
		return fmt.Errorf("chainId does not match node's (have=%v, want=%v)", m.ChainID.ToInt(), chainID)
	case baseFee == nil && dynamic:
		return errors.New("maxFeePerGas and maxPriorityFeePerGas are not valid before London is active")
	}
	return nil
}

// judgeBlobFee refuses a cap for blobs without any. Traces and simulations accept it, as go-ethereum's.
func (m *message) judgeBlobFee() error {
	if m.BlobFeeCap != nil && len(m.BlobHashes) == 0 {
		return errors.New("maxFeePerBlobGas specified without blobVersionedHashes")
	}
	return nil
}

// core returns the message for the EVM, whatever its nonce is. Gas is what it has unless it says.
func (m *message) core(baseFee *big.Int, gas uint64) *core.Message {
	return m.checked(baseFee, gas).SkipNonceCheck()
}

// checked is core for a message that must have the right nonce.
func (m *message) checked(baseFee *big.Int, gas uint64) *core.Message {
	price, feeCap, tipCap := m.prices(baseFee)
	msg := &core.Message{
		From: m.From, To: m.To, Value: number(m.Value), GasLimit: gas, Data: m.Payload(),
		GasPrice: price, GasFeeCap: feeCap, GasTipCap: tipCap, AccessList: m.AccessList,
		BlobHashes: m.BlobHashes, SetCodeAuthorizations: m.AuthorizationList,
	}
	if m.Gas != nil {
		msg.GasLimit = uint64(*m.Gas)
	}
	if m.Nonce != nil {
		msg.Nonce = uint64(*m.Nonce)
	}
	if m.BlobHashes != nil || m.BlobFeeCap != nil {
		msg.BlobGasFeeCap = number(m.BlobFeeCap)
	}
	return msg.SkipEOACheck().SkipGasLimitCapCheck()
}

// transaction is the message as a transaction without a signature. London says whether fees may be
// dynamic.
func (m *message) transaction(msg *core.Message, chainID *big.Int, london bool) *types.Transaction {
	price, cap, tip := msg.GasPrice.ToBig(), msg.GasFeeCap, msg.GasTipCap
	id, list := uint256.MustFromBig(chainID), m.AccessList
	if list == nil {
		list = types.AccessList{}
	}
	switch {
	case (m.GasPrice != nil || !london) && m.AccessList != nil:
		return types.NewTx(&types.AccessListTx{ChainID: chainID, Nonce: msg.Nonce, Gas: msg.GasLimit, GasPrice: price, To: msg.To, Value: msg.Value.ToBig(), Data: msg.Data, AccessList: list})
	case m.GasPrice != nil || !london:
		return types.NewTx(&types.LegacyTx{Nonce: msg.Nonce, Gas: msg.GasLimit, GasPrice: price, To: msg.To, Value: msg.Value.ToBig(), Data: msg.Data})
	case m.AuthorizationList != nil:
		return types.NewTx(&types.SetCodeTx{ChainID: id, Nonce: msg.Nonce, Gas: msg.GasLimit, GasFeeCap: cap, GasTipCap: tip, To: *msg.To, Value: msg.Value, Data: msg.Data, AccessList: list, AuthList: m.AuthorizationList})
	case m.BlobHashes != nil:
		return types.NewTx(&types.BlobTx{ChainID: id, Nonce: msg.Nonce, Gas: msg.GasLimit, GasFeeCap: cap, GasTipCap: tip, To: *msg.To, Value: msg.Value, Data: msg.Data, AccessList: list,
			BlobFeeCap: msg.BlobGasFeeCap, BlobHashes: m.BlobHashes})
	}
	return types.NewTx(&types.DynamicFeeTx{ChainID: chainID, Nonce: msg.Nonce, Gas: msg.GasLimit, GasFeeCap: cap.ToBig(), GasTipCap: tip.ToBig(), To: msg.To, Value: msg.Value.ToBig(), Data: msg.Data, AccessList: list})
}

// prices are per gas. Where none is given, gas is free.
func (m *message) prices(baseFee *big.Int) (price, feeCap, tipCap *uint256.Int) {
	if m.GasPrice != nil || baseFee == nil {
		price = number(m.GasPrice)
		return price, price, price
	}
	price, feeCap, tipCap = new(uint256.Int), number(m.MaxFeePerGas), number(m.MaxPriorityFeePerGas)
	if !feeCap.IsZero() || !tipCap.IsZero() {
		if _, over := price.AddOverflow(tipCap, uint256.MustFromBig(baseFee)); over || price.Gt(feeCap) {
			price = feeCap
		}
	}
	return price, feeCap, tipCap
}

// number is a number of up to 256 bits, which hexutil has checked; 0 for nil.
func number(b *hexutil.Big) *uint256.Int {
	if b == nil {
		return new(uint256.Int)
	}
	return uint256.MustFromBig(b.ToInt())
}

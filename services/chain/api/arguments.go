package api

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Arguments are the parameter that describes a transaction, or a call: all members may be missing.
type Arguments struct {
	From                 common.Address  `json:"from"`
	To                   *common.Address `json:"to,omitzero"`
	Gas                  *hexutil.Uint64 `json:"gas,omitzero"`
	GasPrice             *hexutil.Big    `json:"gasPrice,omitzero"`
	MaxFeePerGas         *hexutil.Big    `json:"maxFeePerGas,omitzero"`
	MaxPriorityFeePerGas *hexutil.Big    `json:"maxPriorityFeePerGas,omitzero"`
	Value                *hexutil.Big    `json:"value,omitzero"`
	Nonce                *hexutil.Uint64 `json:"nonce,omitzero"`

	Data  *hexutil.Bytes `json:"data,omitzero"`
	Input *hexutil.Bytes `json:"input,omitzero"` // goes before data, which is its old name

	AccessList        types.AccessList             `json:"accessList,omitzero"`
	ChainID           *hexutil.Big                 `json:"chainId,omitzero"`
	BlobFeeCap        *hexutil.Big                 `json:"maxFeePerBlobGas,omitzero"`
	BlobHashes        []common.Hash                `json:"blobVersionedHashes,omitzero"`
	AuthorizationList []types.SetCodeAuthorization `json:"authorizationList,omitzero"`
}

// Payload is the input of the call, by either of its names.
func (a *Arguments) Payload() []byte {
	switch {
	case a.Input != nil:
		return *a.Input
	case a.Data != nil:
		return *a.Data
	}
	return nil
}

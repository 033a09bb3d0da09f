package accounts

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"dyno/services/chain/jsonrpc"
)

// domainType is the type of a domain (EIP-712).
const domainType = "EIP712Domain"

// signTypedData signs data of a described type (EIP-712), an object or its text. Version 3 permits
// less than version 4, and is the same otherwise.
func (m *methods) signTypedData(_ context.Context, params []byte) (any, error) {
	var of common.Address
	var text json.RawMessage
	if err := jsonrpc.Params(params, 2, &of, &text); err != nil {
		return nil, err
	}
	if inner := ""; json.Unmarshal(text, &inner) == nil {
		text = json.RawMessage(inner)
	}
	var data apitypes.TypedData
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 1: %v", err)
	}
	hash, err := hashTyped(data)
	if err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 1: %v", err)
	}
	return m.signHash(of, hash)
}

// hashTyped is apitypes.TypedDataAndHash, which demands a type of the domain and members of it: here
// the type may be missing, as clients leave it out, and the domain may be empty.
func hashTyped(data apitypes.TypedData) ([]byte, error) {
	members := data.Domain.Map()
	if data.Types == nil {
		data.Types = apitypes.Types{}
	}
	if _, ok := data.Types[domainType]; !ok {
		data.Types[domainType] = typeOf(members)
	}
	empty := len(members) == 0
	if empty {
		data.Domain.Name = domainType // apitypes refuses to encode anything without a domain
	}
	domain := apitypes.TypedDataMessage{}
	for _, field := range data.Types[domainType] {
		if value, ok := members[field.Name]; ok {
			domain[field.Name] = value
		}
	}
	separator, err := data.HashStruct(domainType, domain)
	if err != nil {
		return nil, err
	}
	if data.PrimaryType == domainType {
		return crypto.Keccak256([]byte("\x19\x01"), separator), nil
	}
	message, err := data.HashStruct(data.PrimaryType, data.Message)
	if err != nil {
		return nil, err
	}
	return crypto.Keccak256(bytes.Join([][]byte{[]byte("\x19\x01"), separator, message}, nil)), nil
}

// typeOf is the type of a domain with some members, in the order of EIP-712.
func typeOf(members map[string]any) []apitypes.Type {
	fields := []apitypes.Type{}
	for _, t := range []apitypes.Type{{Name: "name", Type: "string"}, {Name: "version", Type: "string"}, {Name: "chainId", Type: "uint256"},
		{Name: "verifyingContract", Type: "address"}, {Name: "salt", Type: "bytes32"}} {
		if _, ok := members[t.Name]; ok {
			fields = append(fields, t)
		}
	}
	return fields
}

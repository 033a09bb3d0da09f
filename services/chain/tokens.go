package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/jsonrpc"
)

// Selectors of what a token (ERC-20) answers.
var (
	balanceOf = hexutil.Bytes{0x70, 0xa0, 0x82, 0x31} // of an account
	allowance = hexutil.Bytes{0xdd, 0x62, 0xed, 0x3e} // of a spender, by an owner
)

// setBalance returns the method that gives an account a balance of a token.
func setBalance(methods map[string]jsonrpc.Method) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var of, token common.Address
		var amount math.HexOrDecimal256
		if err := jsonrpc.Params(params, 3, &of, &token, &amount); err != nil {
			return nil, err
		}
		found, err := setAnswer(ctx, methods, token, ask(balanceOf, of), &amount)
		if err == nil && !found {
			err = jsonrpc.Errorf(jsonrpc.ServerError, "Unable to set ERC20 balance, no slot found")
		}
		return nil, err
	}
}

// setAllowance returns the method that lets a spender have some of an owner's balance of a token.
func setAllowance(methods map[string]jsonrpc.Method) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var owner, spender, token common.Address
		var amount math.HexOrDecimal256
		if err := jsonrpc.Params(params, 4, &owner, &spender, &token, &amount); err != nil {
			return nil, err
		}
		found, err := setAnswer(ctx, methods, token, ask(allowance, owner, spender), &amount)
		if err == nil && !found {
			err = jsonrpc.Errorf(jsonrpc.ServerError, "Unable to set ERC20 allowance, no slot found")
		}
		return nil, err
	}
}

// ask is the input of a call about accounts.
func ask(selector hexutil.Bytes, accounts ...common.Address) hexutil.Bytes {
	input := slices.Clone(selector)
	for _, a := range accounts {
		input = append(input, common.LeftPadBytes(a[:], 32)...)
	}
	return input
}

// mostTried bounds the slots that are tried for one answer.
const mostTried = 256

// setAnswer finds the slot of a token by which it answers a call with a number, among those that the call
// reads, and writes the number to it. It is false if there is none. The answer must follow another number,
// too: it may be the same whatever the slot has.
func setAnswer(ctx context.Context, methods map[string]jsonrpc.Method, token common.Address, input hexutil.Bytes, amount *math.HexOrDecimal256) (bool, error) {
	call := map[string]any{"to": token, "input": input}
	value := common.BigToHash((*big.Int)(amount))
	other := value
	other[len(other)-1] ^= 1
	var read struct{ AccessList types.AccessList }
	if err := callOf(ctx, methods["eth_createAccessList"], &read, call, "latest"); err != nil {
		return false, err
	}
	for _, of := range read.AccessList {
		if of.Address != token {
			continue
		}
		for _, slot := range of.StorageKeys[:min(len(of.StorageKeys), mostTried)] {
			follows := true
			for _, number := range []common.Hash{value, other} {
				changed := map[common.Address]any{token: map[string]any{"stateDiff": map[common.Hash]common.Hash{slot: number}}}
				var answer hexutil.Bytes
				err := callOf(ctx, methods["eth_call"], &answer, call, "latest", changed)
				if ctx.Err() != nil {
					return false, ctx.Err()
				}
				follows = follows && err == nil && bytes.Equal(answer, number[:])
			}
			if follows {
				return true, callOf(ctx, methods["anvil_setStorageAt"], nil, token, slot, value)
			}
		}
	}
	return false, nil
}

// callOf calls a method with parameters, and reads its answer; nil: into nothing.
func callOf(ctx context.Context, method jsonrpc.Method, into any, params ...any) error {
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		return err
	}
	answer, err := method(ctx, text)
	if err != nil || into == nil {
		return err
	}
	if text, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

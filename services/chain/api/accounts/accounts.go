// Package accounts is the methods of the JSON-RPC API that use keys which the node has: those of
// the development chain's accounts, or others that its user names. They are for programs that
// expect a node to sign, and for keys that are worth nothing.
//
// It is not for what becomes of a signed transaction (package api), nor for keeping keys safe: they
// are in memory, and every client may use them. It starts no goroutines.
package accounts

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"sync"

	gethaccounts "github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// errUnknown is for an account whose key the node has not, in go-ethereum's words.
var errUnknown = errors.New("unknown account")

// Keys are the keys that the node has, in the order in which eth_accounts lists them.
type Keys []*ecdsa.PrivateKey

// methods use keys.
type methods struct {
	node    api.Backend
	signer  types.Signer
	ask     map[string]jsonrpc.Method // what a transaction lacks is asked of these
	order   []common.Address
	holders map[common.Address]*holder
	others  [64]holder // of impersonated accounts, by the last byte of the address
}

// holder is an account whose key the node has.
type holder struct {
	key *ecdsa.PrivateKey // nil: it is impersonated
	mu  sync.Mutex        // held from the choice of a nonce until the transaction that has it is accepted
}

// Methods returns the methods by name. All are the methods of the node, of which eth_estimateGas
// and eth_maxPriorityFeePerGas are called for what a transaction lacks.
func Methods(node api.Backend, keys Keys, all map[string]jsonrpc.Method) map[string]jsonrpc.Method {
	m := &methods{node: node, signer: types.LatestSigner(node.Genesis.Config), ask: all, order: []common.Address{}, holders: map[common.Address]*holder{}}
	for _, key := range keys {
		address := crypto.PubkeyToAddress(key.PublicKey)
		if m.holders[address] == nil {
			m.order = append(m.order, address)
			m.holders[address] = &holder{key: key}
		}
	}
	return map[string]jsonrpc.Method{
		"eth_accounts":            m.accounts,
		"eth_requestAccounts":     m.accounts,
		"eth_fillTransaction":     m.fillTransaction,
		"eth_signTransaction":     m.signTransaction,
		"eth_sendTransaction":     m.sendTransaction,
		"eth_sendTransactionSync": m.sendTransactionSync,
		"eth_sign":                m.sign,
		"personal_sign":           m.personalSign,
		"eth_signTypedData_v3":    m.signTypedData,
		"eth_signTypedData_v4":    m.signTypedData,

		"eth_pendingTransactions": m.pendingTransactions,
	}
}

// accounts answers those that eth_sendTransaction takes: clients ask for them before they send.
func (m *methods) accounts(_ context.Context, params []byte) (any, error) {
	all := m.order
	if m.node.Named != nil {
		for _, of := range m.node.Named() {
			if m.holders[of] == nil {
				all = append(all[:len(all):len(all)], of)
			}
		}
	}
	return all, jsonrpc.Params(params, 0)
}

// pendingTransactions answers the transactions of these accounts that the next blocks take.
func (m *methods) pendingTransactions(_ context.Context, params []byte) (any, error) {
	all := []*api.Transaction{}
	executable, _ := m.node.Pool.Content()
	for _, of := range m.order {
		for _, tx := range executable[of] {
			all = append(all, api.NewTransaction(tx, m.signer))
		}
	}
	return all, jsonrpc.Params(params, 0)
}

// sign signs a text with eth_sign's prefix (EIP-191).
func (m *methods) sign(_ context.Context, params []byte) (any, error) {
	var of common.Address
	var text hexutil.Bytes
	if err := jsonrpc.Params(params, 2, &of, &text); err != nil {
		return nil, err
	}
	return m.signHash(of, gethaccounts.TextHash(text))
}

// personalSign is sign with its parameters the other way round, and a password that is not needed.
func (m *methods) personalSign(_ context.Context, params []byte) (any, error) {
	var of common.Address
	var text hexutil.Bytes
	var password string
	if err := jsonrpc.Params(params, 2, &text, &of, &password); err != nil {
		return nil, err
	}
	return m.signHash(of, gethaccounts.TextHash(text))
}

// signHash signs a hash. The last byte of the signature is 27 or 28.
func (m *methods) signHash(of common.Address, hash []byte) (any, error) {
	h := m.holders[of]
	if h == nil {
		return nil, errUnknown
	}
	signature, err := crypto.Sign(hash, h.key)
	if err != nil {
		return nil, err
	}
	signature[crypto.RecoveryIDOffset] += 27
	return hexutil.Bytes(signature), nil
}

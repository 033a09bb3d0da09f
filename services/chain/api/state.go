package api

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// mostProofs bounds the storage keys of one eth_getProof, as go-ethereum does.
const mostProofs = 1024

// addState adds the methods that read accounts.
func (m methods) addState(all map[string]jsonrpc.Method) {
	all["eth_getBalance"] = m.ofAccount(func(db *state.StateDB, of common.Address) any {
		return (*hexutil.Big)(db.GetBalance(of).ToBig())
	})
	all["eth_getCode"] = m.ofAccount(func(db *state.StateDB, of common.Address) any {
		return hexutil.Bytes(db.GetCode(of))
	})
	all["eth_getTransactionCount"] = m.getTransactionCount
	all["eth_getStorageAt"] = m.getStorageAt
	all["eth_getStorageValues"] = m.getStorageValues
	all["eth_getAccountInfo"] = m.ofAccount(func(db *state.StateDB, of common.Address) any {
		return &accountInfo{(*hexutil.Big)(db.GetBalance(of).ToBig()), hexutil.Uint64(db.GetNonce(of)), db.GetCode(of)}
	})
	all["eth_getProof"] = m.getProof
}

// accountInfo is an account in one answer.
type accountInfo struct {
	Balance *hexutil.Big   `json:"balance"`
	Nonce   hexutil.Uint64 `json:"nonce"`
	Code    hexutil.Bytes  `json:"code"`
}

// ofAccount returns a method that reads an account, in the last block if none is named.
func (m methods) ofAccount(read func(*state.StateDB, common.Address) any) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var of common.Address
		at := Latest()
		if err := jsonrpc.Params(params, 1, &of, &at); err != nil {
			return nil, err
		}
		db, _, err := m.State(ctx, at)
		if err != nil {
			return nil, err
		}
		return read(db, of), db.Error()
	}
}

// getTransactionCount counts with those that wait, too, if the block is "pending".
func (m methods) getTransactionCount(ctx context.Context, params []byte) (any, error) {
	var of common.Address
	at := Latest()
	if err := jsonrpc.Params(params, 1, &of, &at); err != nil {
		return nil, err
	}
	if n, ok := at.Number(); ok && n == rpc.PendingBlockNumber {
		if nonce, ok := m.Pool.Nonce(of); ok {
			return hexutil.Uint64(nonce), nil
		}
	}
	db, _, err := m.State(ctx, at)
	if err != nil {
		return nil, err
	}
	return hexutil.Uint64(db.GetNonce(of)), db.Error()
}

func (m methods) getStorageAt(ctx context.Context, params []byte) (any, error) {
	var of common.Address
	var text string
	at := Latest()
	if err := jsonrpc.Params(params, 2, &of, &text, &at); err != nil {
		return nil, err
	}
	key, _, err := storageKey(text)
	if err != nil {
		return nil, err
	}
	db, _, err := m.State(ctx, at)
	if err != nil {
		return nil, err
	}
	value := db.GetState(of, key)
	return hexutil.Bytes(value[:]), db.Error()
}

// mostSlots bounds the slots of one eth_getStorageValues, as go-ethereum does.
const mostSlots = 1024

// tooMuch is the code of an error about a bound of go-ethereum's.
const tooMuch = -38026

// getStorageValues reads slots of several accounts.
func (m methods) getStorageValues(ctx context.Context, params []byte) (any, error) {
	var of map[common.Address][]common.Hash
	at := Latest()
	if err := jsonrpc.Params(params, 1, &of, &at); err != nil {
		return nil, err
	}
	slots := 0
	for _, keys := range of {
		slots += len(keys)
	}
	switch {
	case slots > mostSlots:
		return nil, jsonrpc.Errorf(tooMuch, "too many slots (max %d)", mostSlots)
	case slots == 0:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "empty request")
	}
	db, _, err := m.State(ctx, at)
	if err != nil {
		return nil, err
	}
	out := make(map[common.Address][]common.Hash, len(of))
	for address, keys := range of {
		values := make([]common.Hash, len(keys))
		for i, key := range keys {
			values[i] = db.GetState(address, key)
		}
		out[address] = values
	}
	return out, db.Error()
}

// storageKey reads a key of up to 32 bytes, as leniently as go-ethereum: the prefix and leading
// zeros may be missing. It returns the number of bytes, too.
func storageKey(text string) (key common.Hash, length int, err error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	if len(digits) > 2*common.HashLength {
		return key, 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "storage key too long (want at most 32 bytes): %.100q", text)
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return key, 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid hex in storage key: %q", text)
	}
	return common.BytesToHash(raw), len(raw), nil
}

// proven is an account with the nodes of the tries that prove it (EIP-1186).
type proven struct {
	Address      common.Address `json:"address"`
	AccountProof proof          `json:"accountProof"`
	Balance      *hexutil.Big   `json:"balance"`
	CodeHash     common.Hash    `json:"codeHash"`
	Nonce        hexutil.Uint64 `json:"nonce"`
	StorageHash  common.Hash    `json:"storageHash"`
	StorageProof []provenSlot   `json:"storageProof"`
}

type provenSlot struct {
	Key   string       `json:"key"`
	Value *hexutil.Big `json:"value"`
	Proof proof        `json:"proof"`
}

// proof is nodes of a trie, from the root on. It implements ethdb.KeyValueWriter.
type proof []hexutil.Bytes

func (p *proof) Put(_, node []byte) error {
	*p = append(*p, node)
	return nil
}

func (*proof) Delete([]byte) error { panic("a proof only grows") }

func (m methods) getProof(ctx context.Context, params []byte) (any, error) {
	var of common.Address
	var texts []string
	at := Latest()
	if err := jsonrpc.Params(params, 2, &of, &texts, &at); err != nil {
		return nil, err
	}
	if len(texts) > mostProofs {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "too many storage keys requested (max %d, got %d)", mostProofs, len(texts))
	}
	if isPending(at) {
		at = Latest() // there are no proofs of what is not sealed
	}
	db, header, err := m.State(ctx, at)
	if err != nil {
		return nil, err
	}
	root := header.Root
	if m.Impersonated != nil { // a test chain, whose accounts may have been written to since
		root = db.IntermediateRoot(m.executor.Rules(header))
	}
	out := &proven{Address: of, Balance: (*hexutil.Big)(db.GetBalance(of).ToBig()), CodeHash: db.GetCodeHash(of),
		Nonce: hexutil.Uint64(db.GetNonce(of)), StorageHash: db.GetStorageRoot(of)}
	accounts, err := db.Database().OpenTrie(root)
	if err != nil {
		return nil, err
	}
	if err := accounts.Prove(crypto.Keccak256(of[:]), &out.AccountProof); err != nil {
		return nil, err
	}
	if out.StorageProof, err = proveSlots(ctx, db, root, of, texts); err != nil {
		return nil, err
	}
	return out, db.Error()
}

func proveSlots(ctx context.Context, db *state.StateDB, top common.Hash, of common.Address, texts []string) ([]provenSlot, error) {
	proofs := make([]provenSlot, len(texts))
	var slots state.Trie // nil: the account has none
	if root := db.GetStorageRoot(of); len(texts) > 0 && root != types.EmptyRootHash && root != (common.Hash{}) {
		var err error
		if slots, err = db.Database().OpenStorageTrie(top, of, root, nil); err != nil {
			return nil, err
		}
	}
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		key, length, err := storageKey(text)
		if err != nil {
			return nil, err
		}
		p := provenSlot{Key: hexutil.EncodeBig(key.Big()), Value: (*hexutil.Big)(db.GetState(of, key).Big()), Proof: proof{}}
		if length == common.HashLength { // as go-ethereum: a key of 32 bytes comes back as it is
			p.Key = key.Hex()
		}
		if slots != nil {
			if err := slots.Prove(crypto.Keccak256(key[:]), &p.Proof); err != nil {
				return nil, err
			}
		}
		proofs[i] = p
	}
	return proofs, nil
}

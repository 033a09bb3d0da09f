package flat

import (
	"bytes"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// accounts is the prefix of all records of accounts and their slots, which lie together.
const accounts = "acc_"

// accountKey is that of an account's record: acc_ADDRESS.
func accountKey(a common.Address) []byte { return named(a, "") }

// slotKeys is the prefix of the records of an account's slots: acc_ADDRESS_slot_; the key follows.
func slotKeys(a common.Address) []byte { return named(a, "_slot_") }

func named(a common.Address, suffix string) []byte {
	key := make([]byte, 0, len(accounts)+len(a)+len(suffix)+common.HashLength)
	return append(append(append(key, accounts...), a[:]...), suffix...)
}

// noCode is shared by the accounts without code.
var noCode = types.EmptyCodeHash.Bytes()

// encodeAccount is the opposite of decodeAccount; nil, for an account that is gone, gives nil.
func encodeAccount(account *types.StateAccount) []byte {
	if account == nil {
		return nil
	}
	return types.SlimAccountRLP(*account)
}

func decodeAccount(text []byte) (*types.StateAccount, error) {
	if len(text) == 0 {
		return nil, nil
	}
	account, err := types.FullAccount(text)
	if err == nil && bytes.Equal(account.CodeHash, noCode) {
		account.CodeHash = noCode
	}
	return account, err
}

func hashOf(a common.Address) common.Hash { return crypto.Keccak256Hash(a[:]) }

package flat

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// layout says in which records accounts and slots are.
type layout struct {
	// prefix is that of one record of each account; its address follows, and nothing else.
	prefix string

	// slots is the prefix of the records of an account's slots; the key follows.
	slots func(common.Address) []byte

	account func(common.Address, func(key []byte) ([]byte, error)) (*types.StateAccount, error)
	put     func(b *pebble.Batch, address common.Address, account *types.StateAccount)
}

// local has all of an account together: acc_ADDRESS, and acc_ADDRESS_slot_KEY for its slots.
var local = layout{
	prefix: "acc_",
	slots:  func(a common.Address) []byte { return named("acc_", a, "_slot_") },
	account: func(a common.Address, get func([]byte) ([]byte, error)) (*types.StateAccount, error) {
		text, err := get(named("acc_", a, ""))
		if err != nil {
			return nil, err
		}
		return decodeAccount(text)
	},
	put: func(b *pebble.Batch, a common.Address, account *types.StateAccount) {
		put(b, named("acc_", a, ""), encodeAccount(account))
	},
}

// scattered has a record for each field of an account, and slots of all accounts in one place.
var scattered = layout{
	prefix: "account|nonce|",
	slots:  func(a common.Address) []byte { return named("storage|", a, "|") },
	account: func(a common.Address, get func([]byte) ([]byte, error)) (*types.StateAccount, error) {
		nonce, err := get(named("account|nonce|", a, ""))
		if err != nil || nonce == nil {
			return nil, err
		}
		balance, err1 := get(named("account|balance|", a, ""))
		root, err2 := get(named("account|root|", a, ""))
		code, err3 := get(named("account|code|", a, ""))
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		if len(nonce) != 8 || len(balance) != 32 || len(root) != 32 || len(code) != 32 {
			return nil, errors.New("it is damaged")
		}
		return &types.StateAccount{Nonce: binary.BigEndian.Uint64(nonce), Balance: new(uint256.Int).SetBytes(balance), Root: common.Hash(root), CodeHash: code}, nil
	},
	put: func(b *pebble.Batch, a common.Address, account *types.StateAccount) {
		var nonce, balance, root, code []byte
		if account != nil {
			word := account.Balance.Bytes32()
			nonce, balance, root, code = binary.BigEndian.AppendUint64(nil, account.Nonce), word[:], account.Root[:], account.CodeHash
		}
		put(b, named("account|nonce|", a, ""), nonce)
		put(b, named("account|balance|", a, ""), balance)
		put(b, named("account|root|", a, ""), root)
		put(b, named("account|code|", a, ""), code)
	},
}

func named(prefix string, a common.Address, suffix string) []byte {
	key := make([]byte, 0, len(prefix)+len(a)+len(suffix)+common.HashLength)
	return append(append(append(key, prefix...), a[:]...), suffix...)
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

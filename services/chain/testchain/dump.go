package testchain

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/holiman/uint256"

	"dyno/services/chain/jsonrpc"
)

// dumped is the accounts of a state, as anvil has them; its further members are passed by.
type dumped struct {
	Accounts map[common.Address]dumpedAccount `json:"accounts"`
}

type dumpedAccount struct {
	Nonce   uint64                      `json:"nonce"`
	Balance quantity                    `json:"balance"`
	Code    hexutil.Bytes               `json:"code"`
	Storage map[common.Hash]common.Hash `json:"storage"`
}

// largestDump bounds a state that is loaded, in bytes.
const largestDump = 64 << 20

// dump answers the accounts after the last block, as JSON that is compressed with gzip.
func (c *Chain) dump() (any, error) {
	db, _, err := c.view()
	if err != nil {
		return nil, err
	}
	out := dumped{map[common.Address]dumpedAccount{}}
	for _, a := range db.RawDump(&gethstate.DumpConfig{}).Accounts {
		if a.Address == nil {
			continue
		}
		account := dumpedAccount{Nonce: a.Nonce, Code: a.Code, Storage: map[common.Hash]common.Hash{}}
		if _, ok := account.Balance.SetString(a.Balance, 10); !ok {
			return nil, fmt.Errorf("the balance of %v is %q", a.Address, a.Balance)
		}
		for key := range a.Storage {
			account.Storage[key] = db.GetState(*a.Address, key)
		}
		out.Accounts[*a.Address] = account
	}
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	if err := errors.Join(json.NewEncoder(zip).Encode(out), zip.Close()); err != nil {
		return nil, err
	}
	return hexutil.Bytes(text.Bytes()), nil
}

// MarshalJSON writes a number as anvil does, in hexadecimal.
func (q quantity) MarshalJSON() ([]byte, error) { return json.Marshal((*hexutil.Big)(&q.Int)) }

// load writes the accounts of a dump, compressed or not, over those of the last block.
func (c *Chain) load(text hexutil.Bytes) (any, error) {
	plain := io.Reader(bytes.NewReader(text))
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(plain)
		if err != nil {
			return nil, err
		}
		plain = zip
	}
	var in dumped
	if err := json.NewDecoder(io.LimitReader(plain, largestDump)).Decode(&in); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the state cannot be read: %v", err)
	}
	return true, c.write(func(db *gethstate.StateDB) {
		for at, a := range in.Accounts {
			db.SetBalance(at, uint256.MustFromBig(&a.Balance.Int), 0)
			db.SetNonce(at, a.Nonce, 0)
			db.SetCode(at, a.Code, 0)
			for key, value := range a.Storage {
				db.SetState(at, key, value)
			}
		}
	})
}

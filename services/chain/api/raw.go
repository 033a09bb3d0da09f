package api

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// addRaw adds the methods that answer bytes as consensus has them.
func (m methods) addRaw(all map[string]jsonrpc.Method) {
	all["debug_getRawBlock"] = m.rawOfAny("block", func(s *Sealed) (any, error) {
		if s.Pending {
			raw, err := rlp.EncodeToBytes(s.Block)
			return hexutil.Bytes(raw), err
		}
		raw, err := m.Blocks.RawBlock(s.NumberU64())
		return hexutil.Bytes(raw), err
	})
	all["debug_getRawHeader"] = m.rawOfAny("header", func(s *Sealed) (any, error) {
		raw, err := rlp.EncodeToBytes(s.Header())
		return hexutil.Bytes(raw), err
	})
	all["debug_getRawReceipts"] = m.rawOfAny("receipts", rawReceipts)
	all["debug_getRawTransaction"] = ofHash(m.rawTransaction)
}

// rawOfAny is ofAny for bytes, with go-ethereum's answers where there is no block: none for a number, and
// for a hash an error or, of receipts, an empty list.
func (m methods) rawOfAny(part string, run func(*Sealed) (any, error)) jsonrpc.Method {
	method := m.ofAny(run)
	return func(ctx context.Context, params []byte) (any, error) {
		raw, err := method(ctx, params)
		if raw != nil || err != nil {
			return raw, err
		}
		var at rpc.BlockNumberOrHash
		if err := jsonrpc.Params(params, 1, &at); err != nil {
			return nil, err
		}
		switch hash, ok := at.Hash(); {
		case part == "receipts" && ok:
			return []hexutil.Bytes{}, nil
		case part == "receipts":
			return nil, nil
		case ok:
			return nil, fmt.Errorf("%s %v not found", part, hash)
		}
		return hexutil.Bytes{}, nil
	}
}

func rawReceipts(s *Sealed) (any, error) {
	receipts, err := s.Receipts()
	if err != nil {
		return nil, err
	}
	raw := make([]hexutil.Bytes, len(receipts))
	for i, r := range receipts {
		if raw[i], err = r.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func (m methods) rawTransaction(ctx context.Context, hash common.Hash) (any, error) {
	tx := m.Pool.Waiting(hash)
	s, index, err := m.For(ctx).FindTransaction(hash)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		tx = s.Transactions()[index]
	case tx == nil:
		return hexutil.Bytes{}, nil
	}
	raw, err := tx.MarshalBinary()
	return hexutil.Bytes(raw), err
}

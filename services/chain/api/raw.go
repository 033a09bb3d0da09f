package api

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/jsonrpc"
)

// addRaw adds the methods that answer bytes as consensus has them.
func (m methods) addRaw(all map[string]jsonrpc.Method) {
	all["debug_getRawBlock"] = m.ofAny(func(s *Sealed) (any, error) {
		if s.Pending {
			raw, err := rlp.EncodeToBytes(s.Block)
			return hexutil.Bytes(raw), err
		}
		raw, err := m.Blocks.RawBlock(s.NumberU64())
		return hexutil.Bytes(raw), err
	})
	all["debug_getRawHeader"] = m.ofAny(func(s *Sealed) (any, error) {
		raw, err := rlp.EncodeToBytes(s.Header())
		return hexutil.Bytes(raw), err
	})
	all["debug_getRawReceipts"] = m.ofAny(rawReceipts)
	all["debug_getRawTransaction"] = ofHash(m.rawTransaction)
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

func (m methods) rawTransaction(_ context.Context, hash common.Hash) (any, error) {
	tx := m.Pool.Waiting(hash)
	s, index, err := m.FindTransaction(hash)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		tx = s.Transactions()[index]
	case tx == nil:
		return nil, nil
	}
	raw, err := tx.MarshalBinary()
	return hexutil.Bytes(raw), err
}

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// RawBlock returns the bytes of a block.
func (s *Store) RawBlock(number uint64) ([]byte, error) {
	raw, err := s.get(numbered(blockKey, number))
	if err != nil {
		err = fmt.Errorf("block %d: %w", number, err)
	}
	return raw, err
}

// Block returns a block.
func (s *Store) Block(number uint64) (*types.Block, error) {
	raw, err := s.RawBlock(number)
	if err != nil {
		return nil, err
	}
	block := new(types.Block)
	if err := rlp.DecodeBytes(raw, block); err != nil {
		return nil, fmt.Errorf("block %d in %s is damaged: %w", number, s.dir, err)
	}
	return block, nil
}

// Header returns the header of a block.
func (s *Store) Header(number uint64) (*types.Header, error) {
	raw, err := s.RawBlock(number)
	if err != nil {
		return nil, err
	}
	header := new(types.Header)
	list, _, err := rlp.SplitList(raw)
	if err == nil {
		var rest []byte
		if _, _, rest, err = rlp.Split(list); err == nil {
			err = rlp.DecodeBytes(list[:len(list)-len(rest)], header)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("block %d in %s is damaged: %w", number, s.dir, err)
	}
	return header, nil
}

// Clone returns receipts whose derived fields may be set: others share the originals.
func Clone(receipts types.Receipts) types.Receipts {
	out := make(types.Receipts, len(receipts))
	for i, r := range receipts {
		own := *r
		own.Logs = make([]*types.Log, len(r.Logs))
		for l, log := range r.Logs {
			line := *log
			own.Logs[l] = &line
		}
		out[i] = &own
	}
	return out
}

// Receipts returns the receipts of a block: what consensus knows of them. The rest (hashes, places,
// prices) follows from the block.
func (s *Store) Receipts(number uint64) (types.Receipts, error) {
	stored, err := s.get(numbered(receiptsKey, number))
	if err != nil {
		return nil, fmt.Errorf("receipts of block %d: %w", number, err)
	}
	receipts, err := decodeReceipts(stored)
	if err != nil {
		return nil, fmt.Errorf("the receipts of block %d in %s are damaged: %w", number, s.dir, err)
	}
	return receipts, nil
}

// Number returns the number of the block with a hash.
func (s *Store) Number(hash common.Hash) (uint64, error) {
	at, err := s.get(hashed(hashKey, hash))
	if err == nil && len(at) != 8 {
		err = fmt.Errorf("%s: the index of block %x is damaged", s.dir, hash)
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(at), nil
}

// Transaction returns where a transaction is: the number of its block, and its index there.
func (s *Store) Transaction(hash common.Hash) (number uint64, index uint32, err error) {
	at, err := s.get(hashed(transactionKey, hash))
	if err == nil && len(at) != 12 {
		err = fmt.Errorf("%s: the index of transaction %x is damaged", s.dir, hash)
	}
	if err != nil {
		return 0, 0, err
	}
	return binary.BigEndian.Uint64(at), binary.BigEndian.Uint32(at[8:]), nil
}

// CheckIndexes holds what is stored beside a block against it and its receipts.
func (s *Store) CheckIndexes(block *types.Block, receipts types.Receipts) error {
	n := block.NumberU64()
	want, err1 := encodeReceipts(receipts)
	got, err2 := s.get(numbered(receiptsKey, n))
	at, err3 := s.Number(block.Hash())
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("its receipts or its index: %w", err)
	}
	if !bytes.Equal(want, got) {
		return errors.New("its receipts are others than its execution gives")
	}
	if at != n {
		return fmt.Errorf("the index says block %d of its hash", at)
	}
	for i, tx := range block.Transactions() {
		number, index, err := s.Transaction(tx.Hash())
		if err == nil && (number != n || int(index) != i) {
			err = fmt.Errorf("the index says block %d, transaction %d", number, index)
		}
		if err != nil {
			return fmt.Errorf("transaction %x: %w", tx.Hash(), err)
		}
	}
	return nil
}

func encodeReceipts(receipts types.Receipts) ([]byte, error) {
	stored := make([]*types.ReceiptForStorage, len(receipts))
	for i, r := range receipts {
		stored[i] = (*types.ReceiptForStorage)(r)
	}
	return rlp.EncodeToBytes(stored)
}

func decodeReceipts(text []byte) (types.Receipts, error) {
	var stored []*types.ReceiptForStorage
	if err := rlp.DecodeBytes(text, &stored); err != nil {
		return nil, err
	}
	receipts := make(types.Receipts, len(stored))
	for i, r := range stored {
		receipts[i] = (*types.Receipt)(r)
	}
	return receipts, nil
}

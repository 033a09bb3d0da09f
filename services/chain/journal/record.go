package journal

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
)

// kind is the first byte of a record, which also says how the rest must be read: a transaction in
// its canonical form, everything else in RLP.
type kind uint8

const (
	kindTransaction kind = 0x11 // an accepted transaction
	kindBlock       kind = 0x12 // a sealed block: its header, and the hashes of its transactions
	kindCheckpoint  kind = 0x13 // the records before a number count no more
)

// sealed is the content of kindBlock. A block has neither uncles nor withdrawals.
type sealed struct {
	Header *types.Header
	Hashes []common.Hash
}

// checkpoint is the content of kindCheckpoint: the blocks up to Block are durable elsewhere, and
// the transactions that wait are in the records from Begin on.
type checkpoint struct {
	Begin uint64
	Block uint64
}

// record is a decoded record; one of the fields is set.
type record struct {
	transaction *types.Transaction
	block       *sealed
	checkpoint  *checkpoint
}

var errEmpty = errors.New("an empty record")

// decode reads a record, of which it keeps nothing.
func decode(bytes []byte) (r record, err error) {
	if len(bytes) == 0 {
		return r, errEmpty
	}
	switch k := kind(bytes[0]); k {
	case kindTransaction:
		r.transaction = new(types.Transaction)
		err = r.transaction.UnmarshalBinary(bytes[1:])
	case kindBlock:
		r.block = new(sealed)
		if err = rlp.DecodeBytes(bytes[1:], r.block); err == nil {
			err = r.block.Header.SanityCheck()
		}
	case kindCheckpoint:
		r.checkpoint = new(checkpoint)
		err = rlp.DecodeBytes(bytes[1:], r.checkpoint)
	default:
		err = fmt.Errorf("a record of kind 0x%02x, which this program does not know: use the chaind that wrote it, or a newer one", byte(k))
	}
	if err != nil {
		return record{}, err
	}
	return r, nil
}

// encodeTransactions returns a record for each transaction, in one piece of memory.
func encodeTransactions(raws [][]byte) [][]byte {
	size := len(raws)
	for _, raw := range raws {
		size += len(raw)
	}
	all, batch := make([]byte, 0, size), make([][]byte, len(raws))
	for i, raw := range raws {
		begin := len(all)
		all = append(append(all, byte(kindTransaction)), raw...)
		batch[i] = all[begin:]
	}
	return batch
}

func encode(k kind, content any) ([]byte, error) {
	text, err := rlp.EncodeToBytes(content)
	return append([]byte{byte(k)}, text...), err
}

// whole returns the block of a record, given its transactions.
func (s *sealed) whole(txs types.Transactions) *types.Block {
	body := types.Body{Transactions: txs}
	if s.Header.WithdrawalsHash != nil {
		body.Withdrawals = types.Withdrawals{}
	}
	return types.NewBlockWithHeader(s.Header).WithBody(body)
}

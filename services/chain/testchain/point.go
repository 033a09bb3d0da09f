package testchain

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
)

// forkPoint is a block of another node: the parameters of the record of a fork.
type forkPoint struct {
	ID       uint64          `json:"id"`
	URL      string          `json:"url"`
	ChainID  hexutil.Uint64  `json:"chainId"`
	Block    hexutil.Bytes   `json:"block"` // in RLP
	Receipts []hexutil.Bytes `json:"receipts"`
	Bare     bool            `json:"bare,omitempty"`  // the block has its header alone
	Reads    []*read         `json:"reads,omitempty"` // accounts that a fork begins with
}

// point returns a block: whole, or with its header alone where the node does not have the methods for that,
// or transactions of types that are not known here.
func (u *upstream) point(a *asking, number uint64) (*forkPoint, error) {
	header, err := u.header(a, number)
	if err != nil {
		return nil, err
	}
	p, at := &forkPoint{URL: u.url}, hexutil.Uint64(number)
	err = u.ask(a, question{"debug_getRawBlock", []any{at}, &p.Block}, question{"debug_getRawReceipts", []any{at}, &p.Receipts})
	if err == nil {
		var block *types.Block
		if block, _, err = p.decode(); err == nil && block.NumberU64() != number {
			err = fmt.Errorf("the node that is forked answers block %v for %d", block.Number(), number)
		}
	}
	if lacks(err) || errors.Is(err, types.ErrTxTypeNotSupported) {
		p.Receipts, p.Bare = nil, true
		p.Block, err = rlp.EncodeToBytes(types.NewBlockWithHeader(header))
	}
	return p, err
}

// decode returns the block with what consensus knows of its receipts.
func (p *forkPoint) decode() (*types.Block, types.Receipts, error) {
	block := new(types.Block)
	if err := rlp.DecodeBytes(p.Block, block); err != nil {
		return nil, nil, fmt.Errorf("the block of the node that is forked cannot be read: %w", err)
	}
	if err := judge(block.Header()); err != nil {
		return nil, nil, err
	}
	if p.Bare {
		return block, nil, nil
	}
	if len(p.Receipts) != len(block.Transactions()) {
		return nil, nil, fmt.Errorf("the block of the node that is forked has %d transactions and %d receipts", len(block.Transactions()), len(p.Receipts))
	}
	receipts := make(types.Receipts, len(p.Receipts))
	for i, raw := range p.Receipts {
		receipts[i] = new(types.Receipt)
		if err := receipts[i].UnmarshalBinary(raw); err != nil {
			return nil, nil, fmt.Errorf("a receipt of the node that is forked cannot be read: %w", err)
		}
	}
	if types.DeriveSha(block.Transactions(), trie.NewStackTrie(nil)) != block.TxHash() || types.DeriveSha(receipts, trie.NewStackTrie(nil)) != block.ReceiptHash() {
		return nil, nil, fmt.Errorf("block %v of the node that is forked has other transactions or receipts than its header says", block.Number())
	}
	return block, receipts, nil
}

// Bounds of a header of another node, beyond which what is computed of it would overflow or not end.
const (
	mostNumber  = 1 << 48 // also of seconds
	mostBaseFee = 64      // bits
	mostBlobGas = 1 << 29 // some hundred times the target of a block
)

// judge reports what is wrong with a header of another node.
func judge(h *types.Header) error {
	if err := h.SanityCheck(); err != nil {
		return fmt.Errorf("a block of the node that is forked has a %w", err)
	}
	var what string
	switch {
	case h.Number.Uint64() > mostNumber || h.Time > mostNumber:
		what = fmt.Sprintf("the time %d", h.Time)
	case h.GasLimit < params.MinGasLimit || h.GasUsed > h.GasLimit:
		what = fmt.Sprintf("%d gas of %d", h.GasUsed, h.GasLimit)
	case h.BaseFee != nil && h.BaseFee.BitLen() > mostBaseFee:
		what = fmt.Sprintf("the base fee %v", h.BaseFee)
	case (h.ExcessBlobGas == nil) != (h.BlobGasUsed == nil) || h.ExcessBlobGas != nil && h.BaseFee == nil:
		what = "a part of the blob fees only"
	case h.ExcessBlobGas != nil && (*h.ExcessBlobGas > mostBlobGas || *h.BlobGasUsed > mostBlobGas):
		what = fmt.Sprintf("%d blob gas, and an excess of %d", *h.BlobGasUsed, *h.ExcessBlobGas)
	default:
		return nil
	}
	return fmt.Errorf("block %v of the node that is forked has %s, which no chain reaches", h.Number, what)
}

// follows reports why no block can follow one with a header.
func follows(h *types.Header) error {
	if h.BaseFee == nil || h.ExcessBlobGas == nil || h.RequestsHash == nil || h.Difficulty.Sign() != 0 {
		return errors.New("the block of the node that is forked is of rules before Prague: choose a later one, or a node whose chain has these rules")
	}
	return nil
}

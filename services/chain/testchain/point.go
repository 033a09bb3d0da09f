package testchain

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// point returns a block: whole, or with its header alone where the node does not answer the rest in a form
// that is known here.
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
	if isRefusal(err) || errors.As(err, new(*unread)) || errors.Is(err, types.ErrTxTypeNotSupported) {
		return u.assembled(a, header)
	}
	return p, err
}

// assembled is point by the methods that every node has. What does not make the hashes of the header is not
// taken: other kinds of transactions than those of Ethereum, or uncles.
func (u *upstream) assembled(a *asking, header *types.Header) (p *forkPoint, err error) {
	p = &forkPoint{URL: u.url}
	var text json.RawMessage
	if err := u.ask(a, question{"eth_getBlockByNumber", []any{(*hexutil.Big)(header.Number), true}, &text}); err != nil {
		return nil, err
	}
	if block := shown(header, text); block != nil {
		texts, err := u.receipts(a, block)
		if err != nil && !isRefusal(err) {
			return nil, err
		}
		p.Receipts = canonical(texts)
		if p.Block, err = rlp.EncodeToBytes(block); err != nil {
			return nil, err
		}
		if _, _, err := p.decode(); err == nil && !lacks(block) {
			return p, nil
		}
	}
	p.Receipts, p.Bare = nil, true
	p.Block, err = rlp.EncodeToBytes(types.NewBlockWithHeader(header))
	return p, err
}

// receipts asks for those of a block.
func (u *upstream) receipts(a *asking, of *types.Block) (texts []json.RawMessage, err error) {
	if len(of.Transactions()) == 0 {
		return nil, nil
	}
	if err = u.ask(a, question{"eth_getBlockReceipts", []any{(*hexutil.Big)(of.Number())}, &texts}); !isRefusal(err) {
		return texts, err
	}
	texts = make([]json.RawMessage, len(of.Transactions()))
	questions := make([]question, len(texts))
	for i, tx := range of.Transactions() {
		questions[i] = question{"eth_getTransactionReceipt", []any{tx.Hash()}, &texts[i]}
	}
	return texts, u.ask(a, questions...)
}

// shown returns a block as methods answer it; nil if what it has is not known here.
func shown(header *types.Header, text json.RawMessage) *types.Block {
	var body *types.Body
	if err := json.Unmarshal(text, &body); err != nil || body == nil || slices.Contains(body.Transactions, nil) || slices.Contains(body.Withdrawals, nil) {
		return nil
	}
	if header.WithdrawalsHash != nil && body.Withdrawals == nil {
		body.Withdrawals = []*types.Withdrawal{}
	}
	return types.NewBlockWithHeader(header).WithBody(types.Body{Transactions: body.Transactions, Withdrawals: body.Withdrawals})
}

// canonical returns receipts that methods answer in their canonical form; fewer if one is not known here.
func canonical(texts []json.RawMessage) (all []hexutil.Bytes) {
	for _, text := range texts {
		receipt := new(types.Receipt)
		if json.Unmarshal(text, receipt) != nil {
			return all
		}
		raw, err := receipt.MarshalBinary()
		if err != nil {
			return all
		}
		all = append(all, raw)
	}
	return all
}

// lacks reports whether a block does not have all that its header is about.
func lacks(b *types.Block) bool {
	return b.TxHash() != types.EmptyTxsHash && len(b.Transactions()) == 0 ||
		b.UncleHash() != types.EmptyUncleHash && len(b.Uncles()) == 0 ||
		b.Header().WithdrawalsHash != nil && types.DeriveSha(b.Withdrawals(), trie.NewStackTrie(nil)) != *b.Header().WithdrawalsHash
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

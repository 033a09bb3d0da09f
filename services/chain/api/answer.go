package api

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Header is a block's header. Members that its fork does not have are left out.
//
// It is in the JSON of Ethereum's API, with the members that go-ethereum gives it, as are blocks,
// transactions and receipts below; logs and withdrawals have the right form in go-ethereum's own
// types. The values share memory with what they are made of, which must not change.
type Header struct {
	Number           *hexutil.Big     `json:"number"`
	Hash             common.Hash      `json:"hash"`
	ParentHash       common.Hash      `json:"parentHash"`
	Nonce            types.BlockNonce `json:"nonce"`
	MixHash          common.Hash      `json:"mixHash"`
	UncleHash        common.Hash      `json:"sha3Uncles"`
	LogsBloom        *types.Bloom     `json:"logsBloom"`
	StateRoot        common.Hash      `json:"stateRoot"`
	Miner            common.Address   `json:"miner"`
	Difficulty       *hexutil.Big     `json:"difficulty"`
	ExtraData        hexutil.Bytes    `json:"extraData"`
	GasLimit         hexutil.Uint64   `json:"gasLimit"`
	GasUsed          hexutil.Uint64   `json:"gasUsed"`
	Timestamp        hexutil.Uint64   `json:"timestamp"`
	TransactionsRoot common.Hash      `json:"transactionsRoot"`
	ReceiptsRoot     common.Hash      `json:"receiptsRoot"`
	BaseFee          *hexutil.Big     `json:"baseFeePerGas,omitzero"`
	WithdrawalsRoot  *common.Hash     `json:"withdrawalsRoot,omitzero"`
	BlobGasUsed      *hexutil.Uint64  `json:"blobGasUsed,omitzero"`
	ExcessBlobGas    *hexutil.Uint64  `json:"excessBlobGas,omitzero"`
	BeaconRoot       *common.Hash     `json:"parentBeaconBlockRoot,omitzero"`
	RequestsHash     *common.Hash     `json:"requestsHash,omitzero"`
	AccessListHash   *common.Hash     `json:"blockAccessListHash,omitzero"`
	SlotNumber       *hexutil.Uint64  `json:"slotNumber,omitzero"`
}

// NewHeader returns a header. Hash is its hash, which the caller may have already.
func NewHeader(h *types.Header, hash common.Hash) *Header {
	return &Header{
		Number: (*hexutil.Big)(h.Number), Hash: hash, ParentHash: h.ParentHash, Nonce: h.Nonce, MixHash: h.MixDigest,
		UncleHash: h.UncleHash, LogsBloom: &h.Bloom, StateRoot: h.Root, Miner: h.Coinbase, Difficulty: (*hexutil.Big)(h.Difficulty),
		ExtraData: h.Extra, GasLimit: hexutil.Uint64(h.GasLimit), GasUsed: hexutil.Uint64(h.GasUsed), Timestamp: hexutil.Uint64(h.Time),
		TransactionsRoot: h.TxHash, ReceiptsRoot: h.ReceiptHash, BaseFee: (*hexutil.Big)(h.BaseFee), WithdrawalsRoot: h.WithdrawalsHash,
		BlobGasUsed: (*hexutil.Uint64)(h.BlobGasUsed), ExcessBlobGas: (*hexutil.Uint64)(h.ExcessBlobGas), BeaconRoot: h.ParentBeaconRoot,
		RequestsHash: h.RequestsHash, AccessListHash: h.BlockAccessListHash, SlotNumber: (*hexutil.Uint64)(h.SlotNumber),
	}
}

// Block is a block.
type Block struct {
	*Header
	Size         hexutil.Uint64     `json:"size"` // bytes
	Transactions []any              `json:"transactions"`
	Uncles       []common.Hash      `json:"uncles"`
	Withdrawals  *types.Withdrawals `json:"withdrawals,omitzero"`
}

// newBlock returns a block with whole transactions, or with their hashes.
func newBlock(b *types.Block, whole bool, signer types.Signer) *Block {
	out := &Block{
		Header: NewHeader(b.Header(), b.Hash()), Size: hexutil.Uint64(b.Size()),
		Transactions: make([]any, len(b.Transactions())), Uncles: make([]common.Hash, len(b.Uncles())),
	}
	for i, tx := range b.Transactions() {
		if whole {
			out.Transactions[i] = newSealed(b, i, signer)
		} else {
			out.Transactions[i] = tx.Hash()
		}
	}
	for i, uncle := range b.Uncles() {
		out.Uncles[i] = uncle.Hash()
	}
	if withdrawals := b.Withdrawals(); withdrawals != nil {
		out.Withdrawals = &withdrawals
	}
	return out
}

// NewSimulated returns a block of transactions without signatures, which have these senders.
func NewSimulated(b *types.Block, whole bool, senders []common.Address) *Block {
	out := newBlock(b, whole, types.LatestSignerForChainID(nil))
	for i, from := range senders {
		if tx, ok := out.Transactions[i].(*Transaction); ok {
			tx.From = from
		}
	}
	return out
}

// pendingBlock is a block that is not sealed. What is not decided yet is null, as in go-ethereum.
type pendingBlock struct {
	*Block
	Hash  *common.Hash      `json:"hash"`
	Nonce *types.BlockNonce `json:"nonce"`
	Miner *common.Address   `json:"miner"`
}

func newPending(s *Sealed, whole bool) *pendingBlock {
	return &pendingBlock{Block: newBlock(s.Block, whole, s.Signer)}
}

// pendingHeader is the header of a block that is not sealed.
type pendingHeader struct {
	*Header
	Hash  *common.Hash      `json:"hash"`
	Nonce *types.BlockNonce `json:"nonce"`
	Miner *common.Address   `json:"miner"`
}

func newPendingHeader(s *Sealed) *pendingHeader {
	return &pendingHeader{Header: NewHeader(s.Header(), s.Hash())}
}

// uncle is a block of which only the header is known.
type uncle struct {
	*Header
	Size   hexutil.Uint64 `json:"size"` // bytes
	Uncles []common.Hash  `json:"uncles"`
}

func newUncle(h *types.Header) *uncle {
	return &uncle{NewHeader(h, h.Hash()), hexutil.Uint64(types.NewBlockWithHeader(h).Size()), []common.Hash{}}
}

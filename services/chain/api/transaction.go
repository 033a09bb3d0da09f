package api

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// Transaction is a transaction. Where it is in no block yet, the members that say where are null.
// Members that its type does not have are left out.
type Transaction struct {
	BlockHash           *common.Hash                 `json:"blockHash"`
	BlockNumber         *hexutil.Big                 `json:"blockNumber"`
	BlockTimestamp      *hexutil.Uint64              `json:"blockTimestamp"`
	From                common.Address               `json:"from"`
	Gas                 hexutil.Uint64               `json:"gas"`
	GasPrice            *hexutil.Big                 `json:"gasPrice"`
	GasFeeCap           *hexutil.Big                 `json:"maxFeePerGas,omitzero"`
	GasTipCap           *hexutil.Big                 `json:"maxPriorityFeePerGas,omitzero"`
	BlobFeeCap          *hexutil.Big                 `json:"maxFeePerBlobGas,omitzero"`
	Hash                common.Hash                  `json:"hash"`
	Input               hexutil.Bytes                `json:"input"`
	Nonce               hexutil.Uint64               `json:"nonce"`
	To                  *common.Address              `json:"to"`
	TransactionIndex    *hexutil.Uint64              `json:"transactionIndex"`
	Value               *hexutil.Big                 `json:"value"`
	Type                hexutil.Uint64               `json:"type"`
	AccessList          *types.AccessList            `json:"accessList,omitzero"`
	ChainID             *hexutil.Big                 `json:"chainId,omitzero"`
	BlobVersionedHashes []common.Hash                `json:"blobVersionedHashes,omitzero"`
	AuthorizationList   []types.SetCodeAuthorization `json:"authorizationList,omitzero"`
	V                   *hexutil.Big                 `json:"v"`
	R                   *hexutil.Big                 `json:"r"`
	S                   *hexutil.Big                 `json:"s"`
	YParity             *hexutil.Uint64              `json:"yParity,omitzero"`
}

// newSealed returns the transaction of a block that has the given index, which it must have.
func newSealed(b *types.Block, index int, signer types.Signer) *Transaction {
	tx := b.Transactions()[index]
	out := NewTransaction(tx, signer)
	hash, time, at := b.Hash(), hexutil.Uint64(b.Time()), hexutil.Uint64(index)
	out.BlockHash, out.BlockNumber, out.BlockTimestamp, out.TransactionIndex = &hash, (*hexutil.Big)(b.Number()), &time, &at
	if fee := b.BaseFee(); fee != nil {
		out.GasPrice = (*hexutil.Big)(price(tx, fee))
	}
	return out
}

// NewTransaction returns a transaction that is in no block.
func NewTransaction(tx *types.Transaction, signer types.Signer) *Transaction {
	from, _ := types.Sender(signer, tx) // it was accepted, so that it has one
	v, r, s := tx.RawSignatureValues()
	out := &Transaction{
		Type: hexutil.Uint64(tx.Type()), From: from, Gas: hexutil.Uint64(tx.Gas()), GasPrice: (*hexutil.Big)(tx.GasPrice()),
		Hash: tx.Hash(), Input: tx.Data(), Nonce: hexutil.Uint64(tx.Nonce()), To: tx.To(), Value: (*hexutil.Big)(tx.Value()),
		V: (*hexutil.Big)(v), R: (*hexutil.Big)(r), S: (*hexutil.Big)(s),
		BlobFeeCap: (*hexutil.Big)(tx.BlobGasFeeCap()), BlobVersionedHashes: tx.BlobHashes(), AuthorizationList: tx.SetCodeAuthorizations(),
	}
	if id := tx.ChainId(); id.Sign() != 0 || tx.Type() != types.LegacyTxType {
		out.ChainID = (*hexutil.Big)(id)
	}
	if tx.Type() == types.LegacyTxType {
		return out
	}
	list, parity := tx.AccessList(), hexutil.Uint64(v.Sign())
	out.AccessList, out.YParity = &list, &parity
	if tx.Type() != types.AccessListTxType {
		out.GasFeeCap, out.GasTipCap = (*hexutil.Big)(tx.GasFeeCap()), (*hexutil.Big)(tx.GasTipCap())
	}
	return out
}

// price returns what a unit of gas costs: the base fee and the tip, at most the cap.
func price(tx *types.Transaction, baseFee *big.Int) *big.Int {
	price := new(big.Int).Add(tx.GasTipCap(), baseFee)
	if tx.GasFeeCapIntCmp(price) < 0 {
		return tx.GasFeeCap()
	}
	return price
}

// Receipt is the receipt of a sealed transaction.
type Receipt struct {
	BlockHash         common.Hash     `json:"blockHash"`
	BlockNumber       *hexutil.Big    `json:"blockNumber"`
	TransactionHash   common.Hash     `json:"transactionHash"`
	TransactionIndex  hexutil.Uint    `json:"transactionIndex"`
	From              common.Address  `json:"from"`
	To                *common.Address `json:"to"`
	GasUsed           hexutil.Uint64  `json:"gasUsed"`
	CumulativeGasUsed hexutil.Uint64  `json:"cumulativeGasUsed"`
	ContractAddress   *common.Address `json:"contractAddress"`
	Logs              []*types.Log    `json:"logs"`
	LogsBloom         *types.Bloom    `json:"logsBloom"`
	Type              hexutil.Uint    `json:"type"`
	EffectiveGasPrice *hexutil.Big    `json:"effectiveGasPrice"`
	Root              hexutil.Bytes   `json:"root,omitzero"`   // before Byzantium
	Status            *hexutil.Uint64 `json:"status,omitzero"` // from Byzantium on
	BlobGasUsed       *hexutil.Uint64 `json:"blobGasUsed,omitzero"`
	BlobGasPrice      *hexutil.Big    `json:"blobGasPrice,omitzero"`
}

// newReceipt returns a transaction's receipt, all of whose fields are derived.
func newReceipt(r *types.Receipt, tx *types.Transaction, signer types.Signer) *Receipt {
	from, _ := types.Sender(signer, tx) // it was executed
	out := &Receipt{
		BlockHash: r.BlockHash, BlockNumber: (*hexutil.Big)(r.BlockNumber), TransactionHash: r.TxHash, TransactionIndex: hexutil.Uint(r.TransactionIndex),
		From: from, To: tx.To(), GasUsed: hexutil.Uint64(r.GasUsed), CumulativeGasUsed: hexutil.Uint64(r.CumulativeGasUsed),
		Logs: r.Logs, LogsBloom: &r.Bloom, Type: hexutil.Uint(r.Type), EffectiveGasPrice: (*hexutil.Big)(r.EffectiveGasPrice),
	}
	if len(r.PostState) > 0 {
		out.Root = r.PostState
	} else {
		out.Status = (*hexutil.Uint64)(&r.Status)
	}
	if r.Logs == nil {
		out.Logs = []*types.Log{}
	}
	if r.ContractAddress != (common.Address{}) {
		out.ContractAddress = &r.ContractAddress
	}
	if r.Type == types.BlobTxType {
		out.BlobGasUsed, out.BlobGasPrice = (*hexutil.Uint64)(&r.BlobGasUsed), (*hexutil.Big)(r.BlobGasPrice)
	}
	return out
}

// ShownReceipts returns the receipts as clients get them, of the transactions that are wanted; nil: of
// all.
func (s *Sealed) ShownReceipts(wanted func(common.Hash) bool) ([]*Receipt, error) {
	receipts, err := s.Receipts()
	if err != nil {
		return nil, err
	}
	shown := make([]*Receipt, 0, len(receipts))
	for i, r := range receipts {
		if wanted == nil || wanted(r.TxHash) {
			shown = append(shown, newReceipt(r, s.Transactions()[i], s.Signer))
		}
	}
	return shown, nil
}

package main

import (
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// fields is a value of go-ethereum's as the members of its JSON.
func fields(v any) (members map[string]any, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return members, json.Unmarshal(text, &members)
}

// shown is a block as the API has it, with hashes or with whole transactions; nil for none.
func (e *eth) shown(s *sealed, full bool) (map[string]any, error) {
	if s == nil {
		return nil, nil
	}
	all, err := fields(s.Header())
	if err != nil {
		return nil, err
	}
	txs := []any{}
	for _, tx := range s.Transactions() {
		if !full {
			txs = append(txs, tx.Hash())
			continue
		}
		whole, err := e.shownTransaction(tx, s)
		if err != nil {
			return nil, err
		}
		txs = append(txs, whole)
	}
	all["size"], all["transactions"], all["uncles"], all["withdrawals"] = hexutil.Uint64(s.Size()), txs, []common.Hash{}, []any{}
	return all, nil
}

// shownTransaction is a transaction as the API has it, in a block or waiting.
func (e *eth) shownTransaction(tx *types.Transaction, in *sealed) (map[string]any, error) {
	all, err := fields(tx)
	if err != nil {
		return nil, err
	}
	from, _ := types.Sender(e.n.signer, tx) // which was accepted
	all["from"], all["blockHash"], all["blockNumber"], all["transactionIndex"] = from, nil, nil, nil
	price := tx.GasFeeCap()
	if in != nil {
		all["blockHash"], all["blockNumber"], all["transactionIndex"] = in.Hash(), (*hexutil.Big)(in.Number()), hexutil.Uint(0)
		all["blockTimestamp"] = hexutil.Uint64(in.Time())
		tip, _ := tx.EffectiveGasTip(in.BaseFee()) // its fee was high enough
		price = tip.Add(tip, in.BaseFee())
	}
	all["gasPrice"] = (*hexutil.Big)(price)
	return all, nil
}

// shownReceipt is a receipt as the API has it.
func (e *eth) shownReceipt(r *types.Receipt, tx *types.Transaction) map[string]any {
	from, _ := types.Sender(e.n.signer, tx) // which was executed
	all := map[string]any{
		"transactionHash": r.TxHash, "transactionIndex": hexutil.Uint(r.TransactionIndex), "type": hexutil.Uint(r.Type),
		"blockHash": r.BlockHash, "blockNumber": (*hexutil.Big)(r.BlockNumber), "from": from, "to": tx.To(), "contractAddress": nil,
		"gasUsed": hexutil.Uint64(r.GasUsed), "cumulativeGasUsed": hexutil.Uint64(r.CumulativeGasUsed),
		"effectiveGasPrice": (*hexutil.Big)(r.EffectiveGasPrice), "status": hexutil.Uint(r.Status), "logsBloom": r.Bloom, "logs": append([]*types.Log{}, r.Logs...), // never null
	}
	if tx.To() == nil {
		all["contractAddress"] = r.ContractAddress
	}
	return all
}

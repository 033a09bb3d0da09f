package main

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/trie"
)

// seal makes a block of a transaction, behind a parent that is on the disk. The block's state is in
// memory after that.
func (n *node) seal(parent *types.Block, tx *types.Transaction, time uint64) (s sealed, err error) {
	db, err := n.state(parent)
	if err != nil {
		return s, err
	}
	ctx, header := context.Background(), &types.Header{
		ParentHash: parent.Hash(), Number: new(big.Int).Add(parent.Number(), common.Big1), Time: time,
		GasLimit: parent.GasLimit(), BaseFee: n.nextBaseFee(parent), Difficulty: new(big.Int), UncleHash: types.EmptyUncleHash,
		BlobGasUsed: new(uint64), ExcessBlobGas: new(uint64), ParentBeaconRoot: new(common.Hash),
	}
	evm := vm.NewEVM(vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: n.hash,
		BlockNumber: header.Number, Time: header.Time, Difficulty: header.Difficulty, GasLimit: header.GasLimit,
		BaseFee: header.BaseFee, BlobBaseFee: common.Big1, Random: &header.MixDigest,
	}, db, n.config, vm.Config{})
	defer evm.Release()
	core.PreExecution(ctx, header.ParentBeaconRoot, parent.Header(), n.config, evm, header.Number, header.Time)
	db.SetTxContext(tx.Hash(), 0, 1)
	gas := core.NewGasPool(header.GasLimit)
	receipt, _, err := core.ApplyTransaction(ctx, evm, gas, db, header, tx)
	if err != nil {
		return s, err
	}
	requests, _, err := core.PostExecution(ctx, n.config, header.Number, header.Time, receipt.Logs, nil, evm, 2)
	if err != nil {
		return s, err
	}
	requestsHash := types.CalcRequestsHash(requests)
	header.GasUsed, header.RequestsHash = gas.Used(), &requestsHash
	if header.Root, err = db.Commit(evm.GetRules(), header.Number.Uint64()); err != nil {
		return s, err
	}
	s.receipts = types.Receipts{receipt}
	body := &types.Body{Transactions: types.Transactions{tx}, Withdrawals: types.Withdrawals{}}
	s.Block = types.NewBlock(header, body, s.receipts, trie.NewStackTrie(nil))
	return s, s.receipts.DeriveFields(n.config, s.Hash(), s.NumberU64(), header.Time, header.BaseFee, common.Big1, body.Transactions)
}

// hash is that of a block, for the EVM.
func (n *node) hash(number uint64) common.Hash {
	if s, _ := n.block(number); s != nil {
		return s.Hash()
	}
	return common.Hash{}
}

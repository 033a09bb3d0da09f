package evm

import (
	"context"
	"encoding/json"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// flat is the tracer whose results are those of the namespace trace.
const flat = "flatCallTracer"

// flatTransaction answers the calls of a transaction in one list, as OpenEthereum did; null if there
// is no such transaction.
func (m *methods) flatTransaction(ctx context.Context, params []byte) (any, error) {
	var hash common.Hash
	if err := jsonrpc.Params(params, 1, &hash); err != nil {
		return nil, err
	}
	block, index, err := m.node.FindTransaction(hash)
	if block == nil || err != nil {
		return nil, err
	}
	traces, err := m.trace(ctx, block, index, index+1, &traceOptions{Tracer: flat})
	if err != nil {
		return nil, err
	}
	return traces[0].Result, nil
}

// flatBlock answers the calls of all transactions of a block in one list; null if there is no such
// block.
func (m *methods) flatBlock(ctx context.Context, params []byte) (any, error) {
	var at rpc.BlockNumberOrHash
	if err := jsonrpc.Params(params, 1, &at); err != nil {
		return nil, err
	}
	header, err := m.node.Header(at)
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	if header.Number.Sign() == 0 {
		return all, nil
	}
	block, err := m.node.Find(ctx, rpc.BlockNumberOrHashWithHash(header.Hash(), true))
	if block == nil || err != nil {
		return nil, err
	}
	traces, err := m.trace(ctx, block, 0, len(block.Transactions()), &traceOptions{Tracer: flat})
	if err != nil {
		return nil, err
	}
	for _, t := range traces {
		var calls []json.RawMessage
		if err := json.Unmarshal(t.Result, &calls); err != nil {
			return nil, err
		}
		all = append(all, calls...)
	}
	return all, nil
}

package evm

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// errPending is go-ethereum's: what is not sealed is not traced.
var errPending = errors.New("tracing on top of pending is not supported")

// flat is the tracer whose results are those of the namespace trace.
const flat = "flatCallTracer"

// flatTransaction answers the calls of a transaction in one list, as OpenEthereum did; null if there
// is no such transaction.
func (m *methods) flatTransaction(ctx context.Context, params []byte) (any, error) {
	var hash common.Hash
	if err := jsonrpc.Params(params, 1, &hash); err != nil {
		return nil, err
	}
	block, index, err := m.node.For(ctx).FindTransaction(hash)
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
// block. That of pending is not sealed, and an error.
func (m *methods) flatBlock(ctx context.Context, params []byte) (any, error) {
	var at rpc.BlockNumberOrHash
	if err := jsonrpc.Params(params, 1, &at); err != nil {
		return nil, err
	}
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		return nil, errPending
	}
	block, err := m.node.Find(ctx, at)
	if block == nil || err != nil {
		return nil, err
	}
	if block.Header().Number.Sign() == 0 {
		return []json.RawMessage{}, nil
	}
	return m.flatOf(ctx, block)
}

// flatOf returns the calls of all transactions of a sealed block.
func (m *methods) flatOf(ctx context.Context, block *api.Sealed) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
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

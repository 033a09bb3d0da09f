package filter

import (
	"context"
	"errors"
	"math"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// Bounds of a search. One block is always searched whole: its gas bounds it.
const (
	maxBlocks = 10_000
	maxLogs   = 10_000
	maxBytes  = 16 << 20 // of the logs' data
)

var (
	errReversed = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "invalid block range params"}
	errFuture   = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "block range extends beyond current head block"}
	errPending  = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "pending logs are not supported"}
)

// Search returns the logs that criteria select, in their order; none is an empty slice. It is
// eth_getLogs, with go-ethereum's errors.
func Search(ctx context.Context, node api.Backend, c *Criteria) ([]*types.Log, error) {
	from, to, err := bounds(node, c)
	if err != nil {
		return nil, err
	}
	return search(ctx, node, c, from, to)
}

// find is Search, and has another node search the blocks before a fork by one call.
func find(ctx context.Context, node api.Backend, c *Criteria) (any, error) {
	node = node.For(ctx)
	forked, ok := node.Blocks.(api.Forked)
	if !ok {
		return Search(ctx, node, c)
	}
	from, to, err := bounds(node, c)
	if err != nil {
		return nil, err
	}
	first := forked.FirstLogs()
	if from >= first {
		return search(ctx, node, c, from, to)
	}
	elsewhere, err := forked.LogsElsewhere(ctx, c.within(from, min(to, first-1)))
	if err != nil {
		return nil, err
	}
	all := make([]any, len(elsewhere))
	for i, log := range elsewhere {
		all[i] = log
	}
	if to < first {
		return all, nil
	}
	here, err := search(ctx, node, c, first, to)
	for _, log := range here {
		all = append(all, log)
	}
	return all, err
}

// search returns the logs of blocks that criteria select.
func search(ctx context.Context, node api.Backend, c *Criteria, from, to uint64) ([]*types.Log, error) {
	logs, next, err := scan(ctx, node, c, from, to)
	if err == nil && next <= to {
		err = jsonrpc.Errorf(jsonrpc.LimitExceeded,
			"query returned more than %d results or %d MB, up to block %d: ask for fewer blocks", maxLogs, maxBytes>>20, next-1)
	}
	return logs, err
}

// bounds returns the first and the last block that criteria name, of which there are not too many.
func bounds(node api.Backend, c *Criteria) (from, to uint64, err error) {
	if c.BlockHash != nil {
		n, err := node.Blocks.Number(*c.BlockHash)
		if errors.Is(err, store.ErrNotFound) {
			err = errors.New("unknown block")
		}
		return n, n, err
	}
	head := node.States.Head().Number.Uint64()
	from, err1 := number(c.FromBlock, head)
	to, err2 := number(c.ToBlock, head)
	switch err := errors.Join(err1, err2); {
	case err != nil:
		return 0, 0, err
	case from > to:
		return 0, 0, errReversed
	case to > head:
		return 0, 0, errFuture
	case to-from >= maxBlocks:
		return 0, 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "exceed maximum block range %d", maxBlocks)
	}
	return from, to, nil
}

// number returns a number with what words mean here: every sealed block is final.
func number(n *rpc.BlockNumber, head uint64) (uint64, error) {
	switch {
	case n == nil:
		return head, nil
	case *n >= 0:
		return uint64(*n), nil
	case *n == rpc.EarliestBlockNumber:
		return 0, nil
	case *n == rpc.PendingBlockNumber:
		return math.MaxUint64, errPending
	}
	return head, nil
}

// scan returns the logs of blocks, up to a block with which there are many, and the number of the
// first block that it has not searched.
func scan(ctx context.Context, node api.Backend, c *Criteria, from, to uint64) (logs []*types.Log, next uint64, err error) {
	logs = []*types.Log{}
	bytes := 0
	for next = from; next <= to; next++ {
		if err := ctx.Err(); err != nil {
			return nil, from, err
		}
		found, err := blockLogs(node, c, next)
		if err != nil {
			return nil, from, err
		}
		for _, log := range found {
			bytes += len(log.Data)
		}
		if len(logs) > 0 && (len(logs)+len(found) > maxLogs || bytes > maxBytes) {
			break
		}
		logs = append(logs, found...)
	}
	return logs, next, nil
}

// blockLogs returns the logs of one block. They are shared and must not be changed.
func blockLogs(node api.Backend, c *Criteria, number uint64) (found []*types.Log, err error) {
	header, err := node.Blocks.Header(number)
	if err != nil || !c.mayMatch(header.Bloom) || header.Bloom == (types.Bloom{}) {
		return nil, err
	}
	block, err := node.Sealed(number)
	if err != nil {
		return nil, err
	}
	receipts, err := block.Receipts()
	if err != nil {
		return nil, err
	}
	for _, receipt := range receipts {
		for _, log := range receipt.Logs {
			if c.matches(log) {
				found = append(found, log)
			}
		}
	}
	return found, nil
}

package filter

import (
	"context"
	"errors"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/parts/jsonrpc"
	"dyno/services/chain/store"
)

// Bounds of a search. One block is always searched whole: its gas bounds it.
const (
	maxBlocks = 10_000
	maxLogs   = 10_000
	maxBytes  = 16 << 20 // of the logs' data
)

// Blocks are where logs are found. *store.Store implements it.
type Blocks interface {
	Header(number uint64) (*types.Header, error)
	Block(number uint64) (*types.Block, error)
	Receipts(number uint64) (types.Receipts, error) // what consensus knows of them is enough
	Number(hash common.Hash) (uint64, error)        // store.ErrNotFound: there is no such block
}

var (
	errReversed = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "invalid block range params"}
	errFuture   = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "block range extends beyond current head block"}
	errPending  = &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "pending logs are not supported"}
)

// Search returns the logs that criteria select among blocks up to the head, in their order; none is
// an empty slice. It is eth_getLogs, with go-ethereum's errors.
func Search(ctx context.Context, blocks Blocks, head uint64, c *Criteria) ([]*types.Log, error) {
	from, to, err := bounds(blocks, head, c)
	if err != nil {
		return nil, err
	}
	if to-from >= maxBlocks {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "exceed maximum block range %d", maxBlocks)
	}
	logs, next, err := scan(ctx, blocks, c, from, to)
	if err == nil && next <= to {
		err = jsonrpc.Errorf(jsonrpc.LimitExceeded,
			"query returned more than %d results or %d MB, up to block %d: ask for fewer blocks", maxLogs, maxBytes>>20, next-1)
	}
	return logs, err
}

// bounds returns the first and the last block that criteria name.
func bounds(blocks Blocks, head uint64, c *Criteria) (from, to uint64, err error) {
	if c.BlockHash != nil {
		n, err := blocks.Number(*c.BlockHash)
		if errors.Is(err, store.ErrNotFound) {
			err = errors.New("unknown block")
		}
		return n, n, err
	}
	from, err1 := number(c.FromBlock, head)
	to, err2 := number(c.ToBlock, head)
	switch err := errors.Join(err1, err2); {
	case err != nil:
		return 0, 0, err
	case from > to:
		return 0, 0, errReversed
	case to > head:
		return 0, 0, errFuture
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
func scan(ctx context.Context, blocks Blocks, c *Criteria, from, to uint64) (logs []*types.Log, next uint64, err error) {
	logs = []*types.Log{}
	bytes := 0
	for next = from; next <= to; next++ {
		if err := ctx.Err(); err != nil {
			return nil, from, err
		}
		found, err := blockLogs(blocks, c, next)
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

// blockLogs returns the logs of one block. Their places follow from the block.
func blockLogs(blocks Blocks, c *Criteria, number uint64) ([]*types.Log, error) {
	header, err := blocks.Header(number)
	if err != nil || !c.mayMatch(header.Bloom) || header.Bloom == (types.Bloom{}) {
		return nil, err
	}
	block, err1 := blocks.Block(number)
	receipts, err2 := blocks.Receipts(number)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	var found []*types.Log
	hash, index := block.Hash(), uint(0)
	for i, receipt := range receipts {
		for _, log := range receipt.Logs {
			if c.matches(log) {
				found = append(found, &types.Log{
					Address: log.Address, Topics: log.Topics, Data: log.Data, Index: index, TxHash: block.Transactions()[i].Hash(), TxIndex: uint(i),
					BlockNumber: number, BlockHash: hash, BlockTimestamp: block.Time(),
				})
			}
			index++
		}
	}
	return found, nil
}

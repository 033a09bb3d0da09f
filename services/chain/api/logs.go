package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/parts/jsonrpc"
)

// Bounds of eth_getLogs and of filters.
const (
	MostBlocks = 10_000 // in a range
	MostLogs   = 10_000 // in an answer
	mostTopics = 4      // places
	mostValues = 1000   // addresses, or topics for a place
)

// Errors in go-ethereum's words.
var (
	errBothKinds    = errors.New("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
	errTopics       = errors.New("exceed max topics")
	errValues       = errors.New("exceed max addresses or topics per search position")
	errPendingLogs  = jsonrpc.Errorf(jsonrpc.InvalidParams, "pending logs are not supported")
	errRange        = jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid block range params")
	errBeyondHead   = jsonrpc.Errorf(jsonrpc.InvalidParams, "block range extends beyond current head block")
	errTooLarge     = jsonrpc.Errorf(jsonrpc.InvalidParams, "exceed maximum block range %d", MostBlocks)
	errTooMany      = jsonrpc.Errorf(jsonrpc.LimitExceeded, "query returned more than %d results; ask for fewer blocks", MostLogs)
	errUnknownBlock = errors.New("unknown block")
)

// Criteria selects logs: from these blocks, by one of the addresses, and with one of the topics for
// each place. An empty list selects all.
type Criteria struct {
	BlockHash          *common.Hash
	FromBlock, ToBlock *rpc.BlockNumber // nil: the last one
	Addresses          []common.Address
	Topics             [][]common.Hash
}

// UnmarshalJSON reads the parameter of eth_getLogs.
func (c *Criteria) UnmarshalJSON(text []byte) error {
	var in struct {
		BlockHash *common.Hash
		FromBlock *rpc.BlockNumber
		ToBlock   *rpc.BlockNumber
		Address   oneOrMore[common.Address]
		Topics    []oneOrMore[common.Hash]
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.BlockHash != nil && (in.FromBlock != nil || in.ToBlock != nil) {
		return errBothKinds
	}
	if len(in.Topics) > mostTopics {
		return errTopics
	}
	*c = Criteria{in.BlockHash, in.FromBlock, in.ToBlock, in.Address, nil}
	for _, values := range in.Topics {
		c.Topics = append(c.Topics, values)
	}
	return nil
}

// oneOrMore is a value or an array of values. It is empty for null, and for an array that has one.
type oneOrMore[T any] []T

func (o *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	var values []*T
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] != '[' {
		values = make([]*T, 1)
		if err := json.Unmarshal(text, &values[0]); err != nil {
			return err
		}
	} else if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*o = nil
	if len(values) > mostValues {
		return errValues
	}
	if slices.Contains(values, nil) {
		return nil
	}
	for _, v := range values {
		*o = append(*o, *v)
	}
	return nil
}

// Match reports whether a log is selected, wherever it is from.
func (c *Criteria) Match(log *types.Log) bool {
	if len(c.Addresses) > 0 && !slices.Contains(c.Addresses, log.Address) || len(c.Topics) > len(log.Topics) {
		return false
	}
	for i, values := range c.Topics {
		if len(values) > 0 && !slices.Contains(values, log.Topics[i]) {
			return false
		}
	}
	return true
}

// mayMatch reports whether a block with this bloom can have such logs.
func (c *Criteria) mayMatch(bloom *types.Bloom) bool {
	has := func(value []byte) bool { return bloom.Test(value) }
	if len(c.Addresses) > 0 && !slices.ContainsFunc(c.Addresses, func(a common.Address) bool { return has(a[:]) }) {
		return false
	}
	for _, values := range c.Topics {
		if len(values) > 0 && !slices.ContainsFunc(values, func(h common.Hash) bool { return has(h[:]) }) {
			return false
		}
	}
	return true
}

// blocks returns the first and the last block that are selected.
func (c *Criteria) blocks(b Backend) (first, last uint64, err error) {
	if c.BlockHash != nil {
		n, err := b.Blocks.Number(*c.BlockHash)
		return n, n, orNotFound(err, errUnknownBlock)
	}
	head := b.States.Head().Number.Uint64()
	first, last = head, head
	for _, end := range []struct {
		named *rpc.BlockNumber
		at    *uint64
	}{{c.FromBlock, &first}, {c.ToBlock, &last}} {
		if end.named == nil {
			continue
		}
		if *end.named == rpc.PendingBlockNumber {
			return 0, 0, errPendingLogs
		}
		*end.at = b.NumberOf(*end.named)
	}
	switch {
	case first > last:
		return 0, 0, errRange
	case last > head:
		return 0, 0, errBeyondHead
	case last-first >= MostBlocks:
		return 0, 0, errTooLarge
	}
	return first, last, nil
}

// Logs returns the selected logs of sealed blocks, in their order.
func (b Backend) Logs(ctx context.Context, c *Criteria) ([]*types.Log, error) {
	first, last, err := c.blocks(b)
	if err != nil {
		return nil, err
	}
	return b.LogsBetween(ctx, c, first, last)
}

// LogsBetween returns the logs of these blocks that are selected, in their order. The caller bounds
// the number of blocks.
func (b Backend) LogsBetween(ctx context.Context, c *Criteria, first, last uint64) ([]*types.Log, error) {
	found := []*types.Log{}
	for n := first; n <= last; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		header, err := b.Blocks.Header(n)
		if err != nil {
			return nil, err
		}
		if !c.mayMatch(&header.Bloom) {
			continue
		}
		s, err := b.Sealed(n)
		if err != nil {
			return nil, err
		}
		receipts, err := s.Receipts()
		if err != nil {
			return nil, err
		}
		for _, r := range receipts {
			for _, log := range r.Logs {
				if c.Match(log) {
					found = append(found, log)
				}
			}
		}
		if len(found) > MostLogs {
			return nil, errTooMany
		}
	}
	return found, nil
}

func (m methods) getLogs(ctx context.Context, params []byte) (any, error) {
	var c Criteria
	if err := jsonrpc.Params(params, 1, &c); err != nil {
		return nil, err
	}
	return m.Logs(ctx, &c)
}

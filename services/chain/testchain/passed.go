package testchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// Lacking is the error of a block of a node that is forked, of which the header alone is known here.
type Lacking uint64

// Error implements error.
func (n Lacking) Error() string {
	return fmt.Sprintf("the node that is forked does not answer the transactions and receipts of block %d in a form that is known here: by debug_getRawBlock and debug_getRawReceipts, or as those of Ethereum, which make the hashes of its header", uint64(n))
}

// Is has errors.Is take it for store.ErrHeaderAlone.
func (Lacking) Is(target error) bool { return target == store.ErrHeaderAlone }

// passed are the methods that another node answers about such blocks: their first parameter names a block or
// a transaction.
var passed = []string{
	"eth_getBlockByNumber", "eth_getBlockByHash", "eth_getBlockReceipts",
	"eth_getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByHash",
	"eth_getTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockHashAndIndex",
	"eth_getTransactionByHash", "eth_getTransactionReceipt",
	"eth_getUncleCountByBlockNumber", "eth_getUncleCountByBlockHash", "eth_getUncleByBlockNumberAndIndex", "eth_getUncleByBlockHashAndIndex",
	"eth_getRawTransactionByBlockNumberAndIndex", "eth_getRawTransactionByBlockHashAndIndex", "eth_getRawTransactionByHash",
	"debug_getRawBlock", "debug_getRawReceipts", "debug_getRawTransaction",
	"debug_traceTransaction", "debug_traceBlockByNumber", "debug_traceBlockByHash", "trace_transaction", "trace_block",
}

// PassOn has the node that is forked answer where its blocks are not known here, instead of methods that
// would answer that there is nothing.
func (c *Chain) PassOn(methods map[string]jsonrpc.Method) {
	for _, name := range passed {
		here := methods[name]
		methods[name] = func(ctx context.Context, params []byte) (any, error) {
			if c.forkLacks(&params) {
				return c.passOn(ctx, name, params)
			}
			result, err := here(ctx, params)
			if errors.As(err, new(Lacking)) {
				return c.passOn(ctx, name, params)
			}
			return result, err
		}
	}
	for _, name := range []string{"eth_getHeaderByNumber", "eth_getHeaderByHash"} {
		here := methods[name]
		methods[name] = func(ctx context.Context, params []byte) (any, error) {
			result, err := here(ctx, params)
			if errors.As(err, new(Lacking)) {
				return c.passOn(ctx, name, params)
			}
			return result, err
		}
	}
}

// forkLacks reports whether the first parameter names the block that was forked, of which the header alone is
// here. A word for it becomes its number.
func (c *Chain) forkLacks(params *[]byte) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.origin == nil || !c.origin.lacks {
		return false
	}
	var all []json.RawMessage
	var at rpc.BlockNumberOrHash
	if json.Unmarshal(*params, &all) != nil || len(all) == 0 || json.Unmarshal(all[0], &at) != nil {
		return false
	}
	if hash, ok := at.Hash(); ok {
		return hash == c.blocks[0].block.Hash()
	}
	switch n, _ := at.Number(); {
	case n == rpc.PendingBlockNumber, n == rpc.EarliestBlockNumber:
		return false
	case n < 0 && len(c.blocks) > 1, n >= 0 && uint64(n) != c.origin.number:
		return false
	}
	all[0], _ = json.Marshal(hexutil.Uint64(c.origin.number))
	*params, _ = json.Marshal(all)
	return true
}

// passOn makes a call to the node that is forked, and returns its result as it is.
func (c *Chain) passOn(ctx context.Context, method string, params []byte) (any, error) {
	c.mu.RLock()
	o := c.origin
	c.mu.RUnlock()
	var all []any
	if err := json.Unmarshal(params, &all); err != nil || o == nil {
		return nil, errors.New("the chain has begun again meanwhile: call again")
	}
	var result json.RawMessage
	if err := o.upstream().ask(newAsking(ctx), question{method, all, &result}); err != nil {
		return nil, err
	}
	return compact(result)
}

// compact removes the white space between the tokens of JSON, as an answer must have it.
func compact(text json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// FirstLogs implements api.Forked.
func (c *Chain) FirstLogs() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	first := c.base()
	if c.origin != nil && c.origin.lacks {
		first++
	}
	return first
}

// LogsElsewhere implements api.Forked.
func (c *Chain) LogsElsewhere(ctx context.Context, criteria any) ([]json.RawMessage, error) {
	text, err := json.Marshal([]any{criteria})
	if err != nil {
		return nil, err
	}
	result, err := c.passOn(ctx, "eth_getLogs", text)
	if err != nil {
		return nil, err
	}
	var logs []json.RawMessage
	if err := json.Unmarshal(result.(json.RawMessage), &logs); err != nil {
		return nil, fmt.Errorf("the node that is forked answers eth_getLogs with %.100q: %w", result, err)
	}
	return logs, nil
}

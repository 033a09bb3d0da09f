package evm

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// mostFiltered bounds the blocks of trace_filter: all of them are executed again.
const mostFiltered = 1000

// traceFilter selects calls of a range of blocks, as Erigon, Reth and anvil do. OpenEthereum, which has no
// mode, takes the intersection.
type traceFilter struct {
	FromBlock   *rpc.BlockNumber // nil: the last
	ToBlock     *rpc.BlockNumber // nil: the last
	FromAddress []common.Address // none: any
	ToAddress   []common.Address // none: any
	Mode        string           // union, which is the default: one end is of its list; intersection: both are
	After       uint64           // selected calls that are left out at the beginning
	Count       *uint64          // selected calls at most; nil: all
}

// flatCall is what a filter looks at.
type flatCall struct {
	Action struct{ From, To, Address, RefundAddress *common.Address }
	Result *struct{ Address *common.Address }
}

const (
	union        = "union"
	intersection = "intersection"
)

// selects reports whether the ends of a call are selected. A contract's creation is a call to it, and
// its end one to the account that receives its ether.
func (f *traceFilter) selects(c *flatCall) bool {
	from, to := c.Action.From, c.Action.To
	switch {
	case c.Action.RefundAddress != nil:
		from, to = c.Action.Address, c.Action.RefundAddress
	case to == nil && c.Result != nil:
		to = c.Result.Address
	}
	has := func(all []common.Address, a *common.Address) bool {
		return len(all) == 0 || a != nil && slices.Contains(all, *a)
	}
	if f.Mode == intersection || len(f.FromAddress) == 0 || len(f.ToAddress) == 0 {
		return has(f.FromAddress, from) && has(f.ToAddress, to)
	}
	return has(f.FromAddress, from) || has(f.ToAddress, to)
}

// flatFilter answers the selected calls of a range of blocks in one list.
func (m *methods) flatFilter(ctx context.Context, params []byte) (any, error) {
	var f traceFilter
	if err := jsonrpc.Params(params, 1, &f); err != nil {
		return nil, err
	}
	if f.Mode != "" && f.Mode != union && f.Mode != intersection {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "mode %q: want %s or %s", f.Mode, union, intersection)
	}
	head := m.node.States.Head().Number.Uint64()
	first, last := head, head
	for _, bound := range []struct {
		name *rpc.BlockNumber
		n    *uint64
	}{{f.FromBlock, &first}, {f.ToBlock, &last}} {
		if bound.name != nil && *bound.name == rpc.PendingBlockNumber {
			return nil, errPending
		} else if bound.name != nil {
			*bound.n = m.node.NumberOf(*bound.name)
		}
	}
	last = min(last, head)
	if last >= first && last-first >= mostFiltered {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "exceed maximum block range %d", mostFiltered)
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout) // for all blocks
	defer cancel()
	all, size := []json.RawMessage{}, 0
	for n := max(first, 1); n <= last; n++ {
		calls, err := m.flatCalls(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, text := range calls {
			var c flatCall
			switch err := json.Unmarshal(text, &c); {
			case err != nil:
				return nil, err
			case !f.selects(&c):
			case f.After > 0:
				f.After--
			case f.Count != nil && uint64(len(all)) >= *f.Count:
				return all, nil
			case size+len(text) > m.o.MaxTrace:
				return nil, jsonrpc.Errorf(jsonrpc.LimitExceeded, "the traces are too large: ask for fewer blocks, or with count")
			default:
				all, size = append(all, text), size+len(text)
			}
		}
	}
	return all, nil
}

// flatCalls returns the calls of all transactions of a block.
func (m *methods) flatCalls(ctx context.Context, number uint64) ([]json.RawMessage, error) {
	block, err := m.node.Find(ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(number)))
	if block == nil || err != nil || len(block.Transactions()) == 0 {
		return nil, err
	}
	return m.flatOf(ctx, block)
}

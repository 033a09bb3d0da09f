package chain

import (
	"cmp"
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// reorg returns anvil_reorg of which transactions may be objects, too, as eth_sendTransaction takes them: of
// accounts whose keys the node has.
func reorg(b api.Backend, methods map[string]jsonrpc.Method) jsonrpc.Method {
	signed := methods["anvil_reorg"]
	return func(ctx context.Context, params []byte) (any, error) {
		var depth math.HexOrDecimal64
		var pairs [][]json.RawMessage
		head := b.States.Head().Number.Uint64()
		params = inOrder(params)
		if jsonrpc.Params(params, 1, &depth, &pairs) != nil || len(pairs) == 0 || uint64(depth) > head {
			return signed(ctx, params)
		}
		for _, p := range pairs {
			if len(p) != 2 {
				return signed(ctx, params)
			}
		}
		slices.SortStableFunc(pairs, func(a, b []json.RawMessage) int { return cmp.Compare(place(a[1]), place(b[1])) })
		s := signer{methods: methods, after: hexutil.EncodeUint64(head - uint64(depth)), gas: b.States.Head().GasLimit, nonces: map[common.Address]uint64{}}
		for _, p := range pairs {
			if p[0][0] != '{' {
				continue
			}
			var err error
			if p[0], err = s.sign(ctx, p[0]); err != nil {
				return nil, err
			}
		}
		text, err := json.Marshal([]any{depth, pairs})
		if err != nil {
			return nil, err
		}
		return signed(ctx, text)
	}
}

// inOrder returns the parameters of anvil_reorg as a list. Alloy's client has them as the members of an
// object, alone or in a list.
func inOrder(params []byte) []byte {
	var o struct {
		Depth json.RawMessage `json:"depth"`
		Pairs json.RawMessage `json:"tx_block_pairs"`
	}
	if jsonrpc.Params(params, 1, &o) != nil && json.Unmarshal(params, &o) != nil || o.Depth == nil {
		return params
	}
	list, err := json.Marshal([]json.RawMessage{o.Depth, o.Pairs})
	if err != nil {
		return params
	}
	return list
}

// place is the number of a block; what is none is refused later.
func place(text json.RawMessage) uint64 {
	var n math.HexOrDecimal64
	_ = json.Unmarshal(text, &n)
	return uint64(n)
}

// signer signs transactions that follow each other after a block.
type signer struct {
	methods map[string]jsonrpc.Method
	after   string // the block's number
	gas     uint64 // of one whose gas cannot be estimated there
	nonces  map[common.Address]uint64
}

// sign completes and signs a transaction, and returns its bytes.
func (s *signer) sign(ctx context.Context, tx json.RawMessage) (json.RawMessage, error) {
	var a map[string]any
	var of struct{ From *common.Address }
	if err := json.Unmarshal(tx, &of); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "a transaction: %v", err)
	}
	if err := json.Unmarshal(tx, &a); err != nil {
		return nil, err
	}
	if of.From == nil {
		var all []common.Address
		if err := callOf(ctx, s.methods["eth_accounts"], &all); err != nil || len(all) == 0 {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "a transaction of no account: name it as from")
		}
		of.From = &all[0]
	}
	from := *of.From
	nonce, known := s.nonces[from]
	if !known {
		if err := callOf(ctx, s.methods["eth_getTransactionCount"], (*hexutil.Uint64)(&nonce), from, s.after); err != nil {
			return nil, err
		}
	}
	s.nonces[from] = nonce + 1
	lacks := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return a[name] != nil })
	}
	a["from"] = from
	if lacks("nonce") {
		a["nonce"] = hexutil.Uint64(nonce)
	}
	if lacks("gas") {
		gas := hexutil.Uint64(s.gas)
		_ = callOf(ctx, s.methods["eth_estimateGas"], &gas, a, s.after) // it may succeed behind the others
		a["gas"] = gas
	}
	if lacks("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas") {
		var price hexutil.Big
		if err := callOf(ctx, s.methods["eth_gasPrice"], &price); err != nil {
			return nil, err
		}
		a["gasPrice"] = (*hexutil.Big)(new(big.Int).Lsh(price.ToInt(), 1))
	}
	var out struct{ Raw hexutil.Bytes }
	if err := callOf(ctx, s.methods["eth_signTransaction"], &out, a); err != nil {
		return nil, err
	}
	return json.Marshal(out.Raw)
}

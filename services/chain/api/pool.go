package api

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/jsonrpc"
)

func (m methods) poolStatus() (any, error) {
	executable, queued := m.Pool.Stats()
	return struct {
		Pending hexutil.Uint `json:"pending"`
		Queued  hexutil.Uint `json:"queued"`
	}{hexutil.Uint(executable), hexutil.Uint(queued)}, nil
}

// content is transactions that the next blocks take, and those behind a gap.
type content[T any] struct {
	Pending T `json:"pending"`
	Queued  T `json:"queued"`
}

// byNonce are transactions of one sender, or what is shown of them.
type byNonce map[string]any

func (m methods) byNonce(txs types.Transactions, show func(*types.Transaction) any) byNonce {
	out := byNonce{}
	for _, tx := range txs {
		out[strconv.FormatUint(tx.Nonce(), 10)] = show(tx)
	}
	return out
}

func (m methods) whole(tx *types.Transaction) any { return NewTransaction(tx, m.latest) }

// poolOf shows all that waits, by sender and nonce.
func (m methods) poolOf(show func(*types.Transaction) any) any {
	bySender := func(all map[common.Address]types.Transactions) map[string]byNonce {
		out := make(map[string]byNonce, len(all))
		for from, txs := range all {
			out[from.Hex()] = m.byNonce(txs, show)
		}
		return out
	}
	executable, queued := m.Pool.Content()
	return content[map[string]byNonce]{bySender(executable), bySender(queued)}
}

func (m methods) poolContent() (any, error) { return m.poolOf(m.whole), nil }

func (m methods) poolInspect() (any, error) {
	return m.poolOf(func(tx *types.Transaction) any {
		to := "contract creation"
		if tx.To() != nil {
			to = tx.To().Hex()
		}
		return fmt.Sprintf("%s: %v wei + %v gas × %v wei", to, tx.Value(), tx.Gas(), tx.GasPrice())
	}), nil
}

func (m methods) poolContentFrom(_ context.Context, params []byte) (any, error) {
	var from common.Address
	if err := jsonrpc.Params(params, 1, &from); err != nil {
		return nil, err
	}
	executable, queued := m.Pool.Content()
	return content[byNonce]{m.byNonce(executable[from], m.whole), m.byNonce(queued[from], m.whole)}, nil
}

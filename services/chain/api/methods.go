package api

import (
	"context"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// methods are those of this package.
type methods struct {
	Backend
	executor *execution.Executor
	latest   types.Signer // of transactions that wait
	tips     *Tips
}

// Methods returns the methods by name. Those of other packages are added with maps.Copy. Version
// is what web3_clientVersion answers.
func Methods(b Backend, version string) map[string]jsonrpc.Method {
	m := methods{b, execution.New(b.Genesis), b.LatestSigner(), NewTips(b)}
	chainID := b.Genesis.Config.ChainID
	all := map[string]jsonrpc.Method{
		"eth_chainId":        constant(hexutil.EncodeBig(chainID)),
		"eth_syncing":        constant(false),
		"net_version":        constant(chainID.String()),
		"web3_clientVersion": constant(version),

		"eth_blockNumber":                         without(m.blockNumber),
		"eth_getBlockByNumber":                    ofBlock[rpc.BlockNumber](m, m.block),
		"eth_getBlockByHash":                      ofBlock[common.Hash](m, m.block),
		"eth_getBlockReceipts":                    m.ofAny(m.receipts),
		"eth_getBlockTransactionCountByNumber":    countOf[rpc.BlockNumber](m),
		"eth_getBlockTransactionCountByHash":      countOf[common.Hash](m),
		"eth_getTransactionByBlockNumberAndIndex": ofBlock[rpc.BlockNumber](m, m.transactionAt),
		"eth_getTransactionByBlockHashAndIndex":   ofBlock[common.Hash](m, m.transactionAt),
		"eth_getTransactionByHash":                ofHash(m.transaction),
		"eth_getTransactionReceipt":               ofHash(m.receipt),
		"eth_getTransactionBySenderAndNonce":      m.bySenderAndNonce,

		"eth_gasPrice":             without(m.gasPrice),
		"eth_maxPriorityFeePerGas": without(m.maxPriorityFeePerGas),
		"eth_feeHistory":           m.feeHistory,

		"eth_sendRawTransaction":     m.sendRawTransaction,
		"eth_sendRawTransactionSync": m.sendRawTransactionSync,

		"txpool_status":      without(m.poolStatus),
		"txpool_content":     without(m.poolContent),
		"txpool_contentFrom": m.poolContentFrom,
		"txpool_inspect":     without(m.poolInspect),
	}
	m.addState(all)
	m.addChain(all)
	m.addRaw(all)
	return all
}

// Modules returns rpc_modules, which consoles ask for the namespaces of the methods, with a version.
func Modules(all map[string]jsonrpc.Method) jsonrpc.Method {
	versions := map[string]string{"rpc": "1.0"}
	for name := range all {
		namespace, _, _ := strings.Cut(name, "_")
		versions[namespace] = "1.0"
	}
	return constant(versions)
}

// constant returns a method without parameters and with one answer.
func constant(answer any) jsonrpc.Method {
	return func(_ context.Context, params []byte) (any, error) { return answer, jsonrpc.Params(params, 0) }
}

// without returns a method without parameters.
func without(run func() (any, error)) jsonrpc.Method {
	return func(_ context.Context, params []byte) (any, error) {
		if err := jsonrpc.Params(params, 0); err != nil {
			return nil, err
		}
		return run()
	}
}

// ofHash returns a method whose parameter is the hash of a transaction.
func ofHash(run func(context.Context, common.Hash) (any, error)) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var hash common.Hash
		if err := jsonrpc.Params(params, 1, &hash); err != nil {
			return nil, err
		}
		return run(ctx, hash)
	}
}

// name is a parameter that names a block.
type name interface{ rpc.BlockNumber | common.Hash }

func at[N name](n N) rpc.BlockNumberOrHash {
	switch n := any(n).(type) {
	case rpc.BlockNumber:
		return rpc.BlockNumberOrHashWithNumber(n)
	case common.Hash:
		return rpc.BlockNumberOrHashWithHash(n, true)
	}
	panic("unreachable")
}

// ofBlock returns a method with two parameters, of which the first names a block. It answers null
// if there is none.
func ofBlock[N name, P any](m methods, run func(*Sealed, P) (any, error)) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var n N
		var p P
		if err := jsonrpc.Params(params, 2, &n, &p); err != nil {
			return nil, err
		}
		s, err := m.Find(ctx, at(n))
		if s == nil || err != nil {
			return nil, err
		}
		return run(s, p)
	}
}

// ofAny returns a method whose parameter names a block in any way. It answers null if there is
// none.
func (m methods) ofAny(run func(*Sealed) (any, error)) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var at rpc.BlockNumberOrHash
		if err := jsonrpc.Params(params, 1, &at); err != nil {
			return nil, err
		}
		s, err := m.Find(ctx, at)
		if s == nil || err != nil {
			return nil, err
		}
		return run(s)
	}
}

// countOf returns a method that counts the transactions of a block.
func countOf[N name](m methods) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var n N
		if err := jsonrpc.Params(params, 1, &n); err != nil {
			return nil, err
		}
		s, err := m.Find(ctx, at(n))
		if s == nil || err != nil {
			return nil, err
		}
		return hexutil.Uint(len(s.Transactions())), nil
	}
}

func (m methods) blockNumber() (any, error) {
	return hexutil.EncodeUint64(m.States.Head().Number.Uint64()), nil
}

func (m methods) block(s *Sealed, whole bool) (any, error) {
	if s.Pending {
		return newPending(s, whole), nil
	}
	return newBlock(s.Block, whole, s.Signer), nil
}

func (m methods) transactionAt(s *Sealed, index hexutil.Uint) (any, error) {
	if uint64(index) >= uint64(len(s.Transactions())) {
		return nil, nil
	}
	return newSealed(s.Block, int(index), s.Signer), nil
}

func (m methods) transaction(ctx context.Context, hash common.Hash) (any, error) {
	waiting := m.Pool.Waiting(hash) // first: it may be sealed meanwhile, but not the other way round
	s, index, err := m.For(ctx).FindTransaction(hash)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return newSealed(s.Block, index, s.Signer), nil
	case waiting != nil:
		return NewTransaction(waiting, m.latest), nil
	}
	return nil, nil
}

// soon bounds how long an answer waits for the next block. Ethers asks for a receipt once, and then
// waits for a block: if the transaction's came between, it would wait for another one.
const soon = 100 * time.Millisecond

func (b Backend) receipt(ctx context.Context, hash common.Hash) (any, error) {
	b = b.For(ctx)
	head := b.States.Head().Number.Uint64()
	s, index, err := b.FindTransaction(hash)
	if s == nil && err == nil {
		if b.executable(b.Pool.Waiting(hash)) {
			select {
			case <-b.Feed.Grown(head):
			case <-time.After(soon):
			case <-ctx.Done():
			}
		}
		s, index, err = b.FindTransaction(hash)
	}
	if s == nil || err != nil {
		return nil, err
	}
	receipts, err := s.Receipts()
	if err != nil {
		return nil, err
	}
	return newReceipt(receipts[index], s.Transactions()[index], s.Signer), nil
}

func (m methods) receipts(s *Sealed) (any, error) { return s.ShownReceipts(nil) }

// Package evm is the methods of the JSON-RPC API that execute code: eth_call, eth_estimateGas,
// eth_createAccessList, eth_simulateV1 and the traces of debug_*, over the states that the node keeps, with the parameters and words of
// go-ethereum.
//
// Each execution is bounded in gas and time, their number in the processor's cores, and the result
// in size. The package is not for blocks, which package execution executes. Goroutines that watch
// the time end with their execution.
package evm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/api"
	"dyno/services/chain/console"
	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/limiter"
	"dyno/services/chain/store"
)

// Options bound executions.
type Options struct {
	Gas      uint64        // of a call
	Timeout  time.Duration // of an execution
	Patience time.Duration // further time that an execution may wait for what another node has
	MaxTrace int           // bytes of the traces in an answer
	// Next has gas estimated in the block that would be sealed next, unless the client names one, as
	// nodes of test suites do: a contract may cost more there than in the last block again.
	Next bool
	// Console receives what contracts print in eth_call and eth_estimateGas, from any goroutine; nil: it is
	// not read.
	Console func([]console.Line)
}

// maxWaiting is the number of calls that may wait for a core.
const maxWaiting = 256

// methods execute code.
type methods struct {
	node  api.Backend
	o     Options
	chain *ancestors
	cores *limiter.Limiter
	tips  *api.Tips
}

// Methods returns the methods by name.
func Methods(node api.Backend, o Options) map[string]jsonrpc.Method {
	refuseJavaScript()
	m := &methods{
		node: node, o: o, chain: &ancestors{node: node, engine: beacon.New(ethash.NewFaker())},
		tips: api.NewTips(node), cores: o.cores(),
	}
	return map[string]jsonrpc.Method{
		"eth_call":                 m.call,
		"eth_estimateGas":          m.estimateGas,
		"eth_createAccessList":     m.createAccessList,
		"eth_simulateV1":           m.simulateV1,
		"debug_traceTransaction":   m.traceTransaction,
		"debug_traceBlockByNumber": m.traceBlockByNumber,
		"debug_traceBlockByHash":   m.traceBlockByHash,
		"debug_traceBlock":         m.traceBlockOf,
		"debug_traceCall":          m.traceCall,
		"debug_storageRangeAt":     m.storageRangeAt,
		"trace_transaction":        m.flatTransaction,
		"trace_block":              m.flatBlock,
		"trace_filter":             m.flatFilter,
	}
}

// cores limits the executions. One waits for as long as another may have a core, which it keeps while another node
// is asked for it: what waits for a core again can have locks that executions need.
func (o Options) cores() *limiter.Limiter {
	return limiter.New(limiter.Options{Limit: runtime.GOMAXPROCS(0), MaxWaiting: maxWaiting, MaxWait: o.Timeout + o.Patience})
}

// begin waits for a core. The context ends with the time of the execution, and the function, which
// the caller calls, releases the core.
func (m *methods) begin(ctx context.Context) (context.Context, func(), error) {
	return m.beginFor(ctx, m.o.Timeout)
}

func (m *methods) beginFor(ctx context.Context, within time.Duration) (context.Context, func(), error) {
	err := m.cores.Acquire(ctx)
	if errors.Is(err, limiter.ErrFull) || errors.Is(err, limiter.ErrTimeout) {
		err = jsonrpc.Errorf(jsonrpc.LimitExceeded, "too many calls are being executed; try again later")
	}
	if err != nil {
		return nil, nil, err
	}
	var cancel context.CancelFunc
	if m.o.Patience > 0 {
		ctx, cancel = limiter.WithTimeout(ctx, within, m.o.Patience)
	} else {
		ctx, cancel = context.WithTimeout(ctx, within)
	}
	return ctx, func() {
		cancel()
		m.cores.Release()
	}, nil
}

// beginTrace is begin for a trace, which may have less time.
func (m *methods) beginTrace(ctx context.Context, o *traceOptions) (context.Context, func(), error) {
	within, err := o.within(m.o.Timeout)
	if err != nil {
		return nil, nil, err
	}
	return m.beginFor(ctx, within)
}

// aborted is the error of an execution that the end of its context has stopped.
func (m *methods) aborted(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("execution aborted (timeout = %v)", m.o.Timeout)
	}
	return ctx.Err()
}

// signatures are the accounts that ecrecover answers, on a test chain.
func (m *methods) signatures() execution.Signatures {
	if m.node.Signatures == nil {
		return nil
	}
	return m.node.Signatures()
}

// watch cancels an EVM at the end of a context. The caller calls the function when it has used it.
func watch(ctx context.Context, evm *vm.EVM) (stop func() bool) {
	return context.AfterFunc(ctx, evm.Cancel)
}

// reverted is the error of a call that a contract has reverted, with what it returned.
func reverted(data []byte) error {
	e := &jsonrpc.Error{Code: jsonrpc.Reverted, Message: vm.ErrExecutionReverted.Error(), Data: hexutil.Bytes(data)}
	if reason, err := abi.UnpackRevert(data); err == nil {
		e.Message += ": " + reason
	}
	return e
}

// ancestors show the chain's headers to the EVM. They implement core.ChainContext.
type ancestors struct {
	node   api.Backend
	engine consensus.Engine // knows whose a block is
	missed error            // why a header could not be read: a contract got no hash
}

// anew returns them for one execution.
func (a *ancestors) anew(ctx context.Context) *ancestors {
	return &ancestors{node: a.node.For(ctx), engine: a.engine}
}

func (a *ancestors) Config() *params.ChainConfig               { return a.node.Genesis.Config }
func (a *ancestors) Engine() consensus.Engine                  { return a.engine }
func (a *ancestors) CurrentHeader() *types.Header              { return a.node.States.Head() }
func (a *ancestors) GetHeaderByHash(common.Hash) *types.Header { return nil } // only clique asks

// GetHeaderByNumber implements consensus.ChainHeaderReader.
func (a *ancestors) GetHeaderByNumber(n uint64) *types.Header {
	header, err := a.node.Blocks.Header(n)
	if err != nil {
		if !errors.Is(err, store.ErrNotFound) {
			a.missed = err
		}
		return nil
	}
	return header
}

// GetHeader implements consensus.ChainHeaderReader.
func (a *ancestors) GetHeader(hash common.Hash, n uint64) *types.Header {
	if header := a.GetHeaderByNumber(n); header != nil && header.Hash() == hash {
		return header
	}
	return nil
}

var _ core.ChainContext = (*ancestors)(nil)

package api

import (
	"context"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/forkid"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/params/forks"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
)

// addChain adds the methods about the chain and the node, and short ones about blocks.
func (m methods) addChain(all map[string]jsonrpc.Method) {
	all["eth_config"] = without(m.config)
	all["eth_capabilities"] = without(m.capabilities)
	all["eth_blobBaseFee"] = without(m.blobBaseFee)
	all["eth_baseFee"] = without(func() (any, error) {
		return (*hexutil.Big)(m.executor.NextBaseFee(m.States.Head())), nil
	})
	all["net_listening"] = constant(true)
	all["net_peerCount"] = constant(hexutil.Uint(0)) // other nodes of the chain are no peers in its network's sense
	all["web3_sha3"] = func(_ context.Context, params []byte) (any, error) {
		var text hexutil.Bytes
		err := jsonrpc.Params(params, 1, &text)
		return hexutil.Bytes(crypto.Keccak256(text)), err
	}
	header := func(s *Sealed) (any, error) {
		if s.Pending {
			return newPendingHeader(s), nil
		}
		return NewHeader(s.Header(), s.Hash()), nil
	}
	all["eth_getHeaderByNumber"] = oneBlock[rpc.BlockNumber](m, header)
	all["eth_getHeaderByHash"] = oneBlock[common.Hash](m, header)
	uncles := func(s *Sealed) (any, error) { return hexutil.Uint(len(s.Uncles())), nil }
	all["eth_getUncleCountByBlockNumber"] = oneBlock[rpc.BlockNumber](m, uncles)
	all["eth_getUncleCountByBlockHash"] = oneBlock[common.Hash](m, uncles)
	uncle := func(s *Sealed, i hexutil.Uint) (any, error) {
		if uint64(i) >= uint64(len(s.Uncles())) {
			return nil, nil
		}
		return newUncle(s.Uncles()[i]), nil
	}
	all["eth_getUncleByBlockNumberAndIndex"] = ofBlock[rpc.BlockNumber](m, uncle)
	all["eth_getUncleByBlockHashAndIndex"] = ofBlock[common.Hash](m, uncle)
	all["eth_getRawTransactionByBlockNumberAndIndex"] = rawAt[rpc.BlockNumber](m)
	all["eth_getRawTransactionByBlockHashAndIndex"] = rawAt[common.Hash](m)
	all["eth_getRawTransactionByHash"] = ofHash(m.rawTransaction)
}

// rawAt returns a method that answers a transaction in its canonical form; no bytes if there is none.
func rawAt[N name](m methods) jsonrpc.Method {
	method := ofBlock[N](m, func(s *Sealed, i hexutil.Uint) (any, error) {
		if uint64(i) >= uint64(len(s.Transactions())) {
			return nil, nil
		}
		text, err := s.Transactions()[i].MarshalBinary()
		return hexutil.Bytes(text), err
	})
	return func(ctx context.Context, params []byte) (any, error) {
		raw, err := method(ctx, params)
		if raw == nil && err == nil {
			raw = hexutil.Bytes{}
		}
		return raw, err
	}
}

// oneBlock returns a method whose parameter names a block. It answers null if there is none.
func oneBlock[N name](m methods, run func(*Sealed) (any, error)) jsonrpc.Method {
	return func(ctx context.Context, params []byte) (any, error) {
		var n N
		if err := jsonrpc.Params(params, 1, &n); err != nil {
			return nil, err
		}
		s, err := m.Find(ctx, at(n))
		if s == nil || err != nil {
			return nil, err
		}
		return run(s)
	}
}

func (m methods) blobBaseFee() (any, error) {
	head := m.States.Head()
	if head.ExcessBlobGas == nil {
		return nil, nil
	}
	return (*hexutil.Big)(eip4844.CalcBlobFee(m.Genesis.Config, head)), nil
}

// fork is the rules from a time on (EIP-7910).
type fork struct {
	ActivationTime  uint64                    `json:"activationTime"` // seconds since 1970; 0: from block 0 on
	BlobSchedule    *params.BlobConfig        `json:"blobSchedule"`
	ChainID         *hexutil.Big              `json:"chainId"`
	ForkID          hexutil.Bytes             `json:"forkId"`
	Precompiles     map[string]common.Address `json:"precompiles"`
	SystemContracts map[string]common.Address `json:"systemContracts"`
}

// schedule is the rules of the present, and those that follow; nil: none do.
type schedule struct {
	Current *fork `json:"current"`
	Next    *fork `json:"next"`
	Last    *fork `json:"last"`
}

func (m methods) config() (any, error) {
	config := m.Genesis.Config
	current, last := config.LatestFork(m.States.Head().Time), config.LatestFork(^uint64(0))
	out := &schedule{Current: m.fork(current)}
	for f := current + 1; f <= last && out.Next == nil; f++ {
		out.Next = m.fork(f)
	}
	if out.Next != nil {
		out.Last = m.fork(last)
	}
	return out, nil
}

// fork returns the rules of a fork; nil if the chain does not have it by time.
func (m methods) fork(f forks.Fork) *fork {
	config := m.Genesis.Config
	at := config.Timestamp(f)
	if at == nil || config.LondonBlock == nil {
		return nil
	}
	genesis := m.Genesis.Block()
	id := forkid.NewID(config, types.NewBlockWithHeader(genesis.Header()), ^uint64(0), *at).Hash
	out := &fork{
		ActivationTime: *at, BlobSchedule: config.BlobConfig(config.LatestFork(*at)), ChainID: (*hexutil.Big)(config.ChainID), ForkID: id[:],
		Precompiles: map[string]common.Address{}, SystemContracts: config.ActiveSystemContracts(*at),
	}
	if genesis.Time() >= *at {
		out.ActivationTime = 0
	}
	for address, contract := range vm.ActivePrecompiledContracts(config.Rules(config.LondonBlock, true, *at)) {
		out.Precompiles[contract.Name()] = address
	}
	return out
}

// capabilities are what the node can answer, by block (execution-apis 755).
type capabilities struct {
	Head struct {
		Number hexutil.Uint64 `json:"number"`
		Hash   common.Hash    `json:"hash"`
	} `json:"head"`
	State       capability `json:"state"`
	Tx          capability `json:"tx"`
	Logs        capability `json:"logs"`
	Receipts    capability `json:"receipts"`
	Blocks      capability `json:"blocks"`
	StateProofs capability `json:"stateproofs"`
}

// capability is from which block on there is something, and how many of the last blocks it is kept
// for; nil: for all.
type capability struct {
	Disabled       bool            `json:"disabled"`
	OldestBlock    hexutil.Uint64  `json:"oldestBlock"`
	DeleteStrategy *deleteStrategy `json:"deleteStrategy,omitempty"`
}

type deleteStrategy struct {
	Type            string         `json:"type"`
	RetentionBlocks hexutil.Uint64 `json:"retentionBlocks"`
}

func (m methods) capabilities() (any, error) {
	var out capabilities
	head := m.States.Head()
	out.Head.Number, out.Head.Hash = hexutil.Uint64(head.Number.Uint64()), head.Hash()
	n := head.Number.Uint64()
	oldest, window := m.States.Kept()
	out.State.OldestBlock = hexutil.Uint64(oldest)
	if window > 0 {
		out.State.DeleteStrategy = &deleteStrategy{"window", hexutil.Uint64(window)}
	}
	out.StateProofs.DeleteStrategy = &deleteStrategy{"window", provenStates}
	if n >= provenStates {
		out.StateProofs.OldestBlock = hexutil.Uint64(n + 1 - provenStates)
	}
	// Clients expect a window of logs (execution-apis); here it ends with no chain.
	out.Logs.DeleteStrategy = &deleteStrategy{"window", math.MaxInt64}
	return &out, nil
}

// provenStates is the number of the last blocks whose states can be proved.
const provenStates = 128

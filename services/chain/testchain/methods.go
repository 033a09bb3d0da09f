package testchain

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/jsonrpc"
)

// Version is what web3_clientVersion answers: helpers of test suites look for anvil's name.
const Version = "anvil/v1.7.1-chaind"

// Names are all methods of test chains, by which other nodes refuse them.
func Names() (all []string) {
	for name := range methods((*Chain)(nil)) {
		all = append(all, name)
	}
	return all
}

// Methods returns the methods that test suites use beside those of any node.
func (c *Chain) Methods() map[string]jsonrpc.Method { return methods(c) }

func methods(c *Chain) map[string]jsonrpc.Method {
	all := map[string]jsonrpc.Method{}
	for name, others := range names {
		if others == nil {
			continue
		}
		method := func(ctx context.Context, params []byte) (any, error) {
			if len(params) == 0 {
				params = []byte("[]")
			}
			return c.do(ctx, name, json.RawMessage(append([]byte(nil), params...)))
		}
		for _, n := range append([]string{name}, others...) {
			if strings.Contains(n, "_") {
				all[n] = method
			}
		}
	}
	read := func(answer func() any, names ...string) {
		for _, name := range names {
			all[name] = func(_ context.Context, params []byte) (any, error) { return answer(), nil }
		}
	}
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return !c.manual && c.interval == 0 }, "anvil_getAutomine", "hardhat_getAutomine")
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return c.intervalSeconds() }, "anvil_getIntervalMining")
	all["anvil_reset"], all["hardhat_reset"] = c.resetOrFork, c.resetOrFork
	all["anvil_setRpcUrl"] = c.moveOrigin
	read(c.metadata, "hardhat_metadata", "anvil_metadata")
	read(c.nodeInfo, "anvil_nodeInfo")
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return c.blocks[0].block.Time() }, "anvil_getGenesisTime")
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return c.coinbase }, "eth_coinbase")
	read(func() any { return nil }, "anvil_setLoggingEnabled", "hardhat_setLoggingEnabled", "anvil_enableTraces")
	for _, name := range []string{"anvil_dumpState", "hardhat_dumpState"} {
		all[name] = func(context.Context, []byte) (any, error) { return c.dump() }
	}
	for _, name := range []string{"anvil_setMinGasPrice", "hardhat_setMinGasPrice"} {
		all[name] = func(context.Context, []byte) (any, error) {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s is not supported when EIP-1559 is active", name)
		}
	}
	return all
}

func (c *Chain) intervalSeconds() any {
	if c.interval == 0 {
		return nil
	}
	return int64(c.interval.Seconds())
}

// metadata is what hardhat_metadata answers.
func (c *Chain) metadata() any {
	c.mu.RLock()
	defer c.mu.RUnlock()
	head, snapshots := c.head(), map[string]any{}
	for _, s := range c.snapshots {
		last := c.blocks[s.blocks-1].block
		snapshots[hexutil.EncodeUint64(s.id)] = []any{last.NumberU64(), last.Hash()}
	}
	var network any
	if c.origin != nil {
		network = map[string]any{"chainId": c.origin.chain, "forkBlockNumber": c.origin.number, "forkBlockHash": c.blocks[0].block.Hash()}
	}
	return map[string]any{
		"clientVersion": Version, "chainId": c.genesis.Config.ChainID.Uint64(), "instanceId": c.instance(),
		"latestBlockNumber": head.Number.Uint64(), "latestBlockHash": head.Hash(), "snapshots": snapshots, "forkedNetwork": network,
	}
}

// instance names this run of the chain.
func (c *Chain) instance() common.Hash { return crypto.Keccak256Hash(c.started[:]) }

// nodeInfo is what anvil_nodeInfo answers.
func (c *Chain) nodeInfo() any {
	c.mu.RLock()
	defer c.mu.RUnlock()
	head := c.head()
	gasLimit := head.GasLimit
	if c.gasLimit > 0 {
		gasLimit = c.gasLimit
	}
	forking := map[string]any{"forkUrl": nil, "forkBlockNumber": nil, "forkRetryBackoff": nil}
	if c.origin != nil {
		forking["forkUrl"], forking["forkBlockNumber"] = c.origin.upstream().url, c.origin.number
	}
	order := "fifo"
	if c.fees {
		order = "fees"
	}
	return map[string]any{
		"currentBlockNumber": hexutil.Uint64(head.Number.Uint64()), "currentBlockTimestamp": head.Time, "currentBlockHash": head.Hash(),
		"hardFork": "Prague", "transactionOrder": order,
		"environment": map[string]any{
			"baseFee": (*hexutil.Big)(c.executor.NextBaseFee(head)), "chainId": c.genesis.Config.ChainID.Uint64(), "gasLimit": hexutil.Uint64(gasLimit), "gasPrice": hexutil.Uint64(2e9),
		},
		"forkConfig": forking, "network": nil,
	}
}

package testchain

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math/big"
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
	all["anvil_setRpcUrl"], all["hardhat_setRpcUrl"] = c.moveOrigin, c.moveOrigin
	read(c.metadata, "hardhat_metadata", "anvil_metadata")
	read(c.nodeInfo, "anvil_nodeInfo")
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return c.blocks[0].block.Time() }, "anvil_getGenesisTime")
	read(func() any { c.mu.RLock(); defer c.mu.RUnlock(); return c.coinbase }, "eth_coinbase")
	read(c.shownAt, "anvil_getLastBlockWallTime")
	read(func() any { return nil }, "anvil_enableTraces", "hardhat_enableTraces", "anvil_getBlobByHash", "anvil_getBlobsByTransactionHash") // there are no blobs
	all["anvil_setLoggingEnabled"], all["hardhat_setLoggingEnabled"] = c.setLogging, c.setLogging
	all["hardhat_dropTransaction"] = c.dropped
	all["hardhat_setBlockTimestampInterval"] = c.setStepInMilliseconds
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

// instance names this run of the chain since it began, or began again: helpers see by it that what they
// deployed is gone.
func (c *Chain) instance() common.Hash {
	return crypto.Keccak256Hash(c.started[:], binary.BigEndian.AppendUint64(nil, c.begins))
}

// shownAt answers when the last block became it, in milliseconds since 1970; where that is not known, when it
// was made by its own time.
func (c *Chain) shownAt() any {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.shown.IsZero() {
		return c.head().Time * 1000
	}
	return c.shown.UnixMilli()
}

// setLogging says whether what contracts print is in the log, until the node ends.
func (c *Chain) setLogging(_ context.Context, params []byte) (any, error) {
	var on bool
	if err := jsonrpc.Params(params, 1, &on); err != nil {
		return nil, err
	}
	c.silent.Store(!on)
	return nil, nil
}

// dropped is anvil_dropTransaction with Hardhat's answer, which its helpers check.
func (c *Chain) dropped(ctx context.Context, params []byte) (any, error) {
	hash, err := c.do(ctx, "anvil_dropTransaction", bytes.Clone(params))
	return hash != nil, err
}

// setStepInMilliseconds is anvil_setBlockTimestampInterval as viem's test client calls it for Hardhat.
func (c *Chain) setStepInMilliseconds(ctx context.Context, params []byte) (any, error) {
	var step quantity
	if err := jsonrpc.Params(params, 1, &step); err != nil {
		return nil, err
	}
	seconds := new(big.Int).Add(&step.Int, big.NewInt(999))
	return c.do(ctx, "anvil_setBlockTimestampInterval", json.RawMessage(`["`+seconds.Div(seconds, big.NewInt(1000)).String()+`"]`))
}

// nodeInfo is what anvil_nodeInfo answers.
func (c *Chain) nodeInfo() any {
	c.mu.RLock()
	defer c.mu.RUnlock()
	head := c.head()
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
		"hardFork": c.genesis.Config.LatestFork(head.Time).String(), "transactionOrder": order,
		"environment": map[string]any{
			"baseFee": (*hexutil.Big)(c.executor.NextBaseFee(head)), "chainId": c.genesis.Config.ChainID.Uint64(), "gasLimit": hexutil.Uint64(c.limit()), "gasPrice": hexutil.Uint64(2e9),
		},
		"forkConfig": forking, "network": nil,
	}
}

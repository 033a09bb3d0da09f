package testchain

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/jsonrpc"
)

// forkRecord is the record of a fork.
const forkRecord = "fork"

// forking is what a call to begin as a fork names.
type forking struct {
	JSONRPCURL  string
	BlockNumber json.RawMessage
}

// latest reports whether the last block is meant.
func (f *forking) latest() bool {
	return len(f.BlockNumber) == 0 || string(f.BlockNumber) == "null" || string(f.BlockNumber) == `"latest"`
}

// RefuseForks has calls name no node to fork but the one that the chain is a fork of: where clients are on other
// machines, they could have this one call any of its own ports.
func (c *Chain) RefuseForks() { c.settled.Store(true) }

// nodeAt is newUpstream for a call of a client.
func (c *Chain) nodeAt(url string) (*upstream, error) {
	if c.settled.Load() && url != c.originURL() {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "this names a node to fork, and other machines reach this one and could have it call any port here: name it by --fork-url, or serve this folder on a loopback address until it is a fork")
	}
	return newUpstream(url)
}

// originURL is the URL of the node that is forked; "": the chain is no fork.
func (c *Chain) originURL() string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.origin == nil {
		return ""
	}
	return c.origin.upstream().url
}

// resetOrFork begins the chain again: with its genesis, or as a fork of another node's, of which anvil takes
// the parameters in two forms. A fork to which no other node is named stays one of the same.
func (c *Chain) resetOrFork(ctx context.Context, text []byte) (any, error) {
	var o struct {
		Forking *forking
		forking
	}
	if err := jsonrpc.Params(text, 0, &o); err != nil {
		return nil, err
	}
	named := o.Forking
	if named == nil && (o.JSONRPCURL != "" || !o.latest()) {
		named = &o.forking
	}
	if named == nil {
		return c.do(ctx, "anvil_reset", json.RawMessage("[]"))
	}
	if named.JSONRPCURL == "" {
		named.JSONRPCURL = c.originURL()
	}
	switch {
	case named.JSONRPCURL != "":
		return c.forkOf(ctx, named)
	case named.latest(): // of viem, which names neither
		return c.do(ctx, "anvil_reset", json.RawMessage("[]"))
	}
	return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "Forking not enabled and RPC URL not provided to start forking")
}

// forkOf asks another node for what a fork begins with, which takes no lock, and makes the call.
func (c *Chain) forkOf(ctx context.Context, named *forking) (any, error) {
	u, err := c.nodeAt(named.JSONRPCURL)
	if err != nil {
		return nil, err
	}
	defer u.close()
	a := newAsking(ctx)
	number, err := named.number(a, u)
	if err != nil {
		return nil, err
	}
	p, err := u.point(a, number)
	if err == nil {
		err = u.ask(a, question{"eth_chainId", []any{}, &p.ChainID})
	}
	if err == nil {
		err = c.notItself(a, u)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.forks++
	p.ID = c.forks
	c.mu.Unlock()
	if err := c.readEndowed(a, u, p, number); err != nil {
		return nil, err
	}
	record, err := json.Marshal([]*forkPoint{p})
	if err == nil && len(record) > largestRecord {
		err = fmt.Errorf("block %d of the node that is forked is too large for the journal: choose another one", number)
	}
	if err != nil {
		return nil, err
	}
	return c.do(ctx, forkRecord, record)
}

// number is that of the block which is named; without one, of the last.
func (f *forking) number(a *asking, u *upstream) (uint64, error) {
	if f.latest() {
		return u.head(a)
	}
	var n quantity
	if err := json.Unmarshal(f.BlockNumber, &n); err != nil {
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "blockNumber: %v", err)
	}
	return n.uint64()
}

// mostAccounts bounds the accounts that are read by one array of calls.
const mostAccounts = 30

// readEndowed reads the accounts of the genesis, which a fork endows.
func (c *Chain) readEndowed(a *asking, u *upstream, p *forkPoint, number uint64) error {
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(c.genesis.Alloc), common.Address.Cmp), mostAccounts) {
		var reads []*read
		for _, at := range some {
			reads = append(reads, &read{Fork: p.ID, Account: &at})
		}
		if err := u.accounts(a, number, reads...); err != nil {
			return err
		}
		p.Reads = append(p.Reads, reads...)
	}
	return nil
}

// notItself refuses this chain as its own origin: a call would wait for itself.
func (c *Chain) notItself(a *asking, u *upstream) error {
	c.mu.RLock()
	own := c.instance()
	c.mu.RUnlock()
	var m *struct{ InstanceID common.Hash }
	if err := u.ask(a, question{"hardhat_metadata", []any{}, &m}); err == nil && m != nil && m.InstanceID == own {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "%s is this chain itself: name another node", u.host)
	}
	return nil
}

// moveOrigin says where the node that was forked is now. On a chain that is no fork it does nothing, as on anvil.
func (c *Chain) moveOrigin(ctx context.Context, text []byte) (any, error) {
	var at string
	if err := jsonrpc.Params(text, 1, &at); err != nil {
		return nil, err
	}
	c.mu.RLock()
	fork := c.origin != nil
	c.mu.RUnlock()
	if !fork {
		return nil, nil
	}
	u, err := c.nodeAt(at)
	if err != nil {
		return nil, err
	}
	defer u.close()
	if err := c.notItself(newAsking(ctx), u); err != nil {
		return nil, err
	}
	return c.do(ctx, "anvil_setRpcUrl", json.RawMessage(text))
}

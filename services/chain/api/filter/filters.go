package filter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// Bounds of the filters that clients poll.
const (
	maxFilters = 1000
	maxIdle    = 5 * time.Minute // then a filter is removed, as by go-ethereum
)

var errNotFound = errors.New("filter not found")

// Filters are those that clients poll, and the subscriptions of WebSockets.
type Filters struct {
	node    api.Backend
	signer  types.Signer
	dropped atomic.Uint64
	tasks   sync.WaitGroup // of subscriptions

	mu   sync.Mutex
	kept map[string]*kept
}

// kept is a filter.
type kept struct {
	criteria *Criteria // nil: it is not one of logs
	used     time.Time // guarded by Filters.mu

	mu      sync.Mutex // one call reads at a time
	changes func(context.Context) (any, error)
}

// New returns the filters of a node; there are none yet.
func New(node api.Backend) *Filters {
	return &Filters{node: node, signer: node.LatestSigner(), kept: map[string]*kept{}}
}

// Wait returns when all subscriptions have ended, which the server's Drain does.
func (f *Filters) Wait() { f.tasks.Wait() }

// Dropped counts the hashes of accepted transactions that a client did not get because it asked too
// late.
func (f *Filters) Dropped() uint64 { return f.dropped.Load() }

// Methods returns the methods by name.
func (f *Filters) Methods() map[string]jsonrpc.Method {
	return map[string]jsonrpc.Method{
		"eth_getLogs":                     f.getLogs,
		"eth_newFilter":                   f.newFilter,
		"eth_newBlockFilter":              f.newBlockFilter,
		"eth_newPendingTransactionFilter": f.newPendingTransactionFilter,
		"eth_getFilterChanges":            f.getFilterChanges,
		"eth_getFilterLogs":               f.getFilterLogs,
		"eth_uninstallFilter":             f.uninstallFilter,
		"eth_subscribe":                   f.subscribe,
		"eth_unsubscribe":                 f.unsubscribe,
	}
}

func (f *Filters) getLogs(ctx context.Context, params []byte) (any, error) {
	var c Criteria
	if err := jsonrpc.Params(params, 1, &c); err != nil {
		return nil, err
	}
	return find(ctx, f.node, &c)
}

func (f *Filters) newFilter(_ context.Context, params []byte) (any, error) {
	var c Criteria
	if err := jsonrpc.Params(params, 1, &c); err != nil {
		return nil, err
	}
	if err := c.judge(); err != nil {
		return nil, err
	}
	read := f.newLogs(&c)
	return f.keep(&kept{criteria: &c, changes: func(ctx context.Context) (any, error) {
		logs, _, err := read(ctx)
		return logs, err
	}})
}

func (f *Filters) newBlockFilter(_ context.Context, params []byte) (any, error) {
	if err := jsonrpc.Params(params, 0); err != nil {
		return nil, err
	}
	read := f.newHeaders(maxBlocks)
	return f.keep(&kept{changes: func(context.Context) (any, error) {
		headers, _, err := read()
		hashes := make([]common.Hash, len(headers))
		for i, header := range headers {
			hashes[i] = header.Hash()
		}
		return hashes, err
	}})
}

func (f *Filters) newPendingTransactionFilter(_ context.Context, params []byte) (any, error) {
	var whole bool
	if err := jsonrpc.Params(params, 0, &whole); err != nil {
		return nil, err
	}
	read := f.newHashes(math.MaxInt)
	return f.keep(&kept{changes: func(context.Context) (any, error) {
		hashes, _ := read()
		return f.transactions(hashes, whole)
	}})
}

// keep stores a filter and returns its id.
func (f *Filters) keep(k *kept) (string, error) {
	var random [16]byte
	rand.Read(random[:]) // never fails
	id, now := "0x"+hex.EncodeToString(random[:]), time.Now()
	k.used = now
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.kept, func(_ string, k *kept) bool { return now.Sub(k.used) > maxIdle })
	if len(f.kept) >= maxFilters {
		return "", jsonrpc.Errorf(jsonrpc.LimitExceeded, "there are %d filters: uninstall one, or subscribe over WebSocket", maxFilters)
	}
	f.kept[id] = k
	return id, nil
}

// find returns the filter whose id is the only parameter.
func (f *Filters) find(params []byte) (*kept, error) {
	var id string
	if err := jsonrpc.Params(params, 1, &id); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k, now := f.kept[id], time.Now()
	if k == nil || now.Sub(k.used) > maxIdle {
		delete(f.kept, id)
		return nil, errNotFound
	}
	k.used = now
	return k, nil
}

func (f *Filters) getFilterChanges(ctx context.Context, params []byte) (any, error) {
	k, err := f.find(params)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changes(ctx)
}

func (f *Filters) getFilterLogs(ctx context.Context, params []byte) (any, error) {
	k, err := f.find(params)
	if err == nil && k.criteria == nil {
		err = errNotFound
	}
	if err != nil {
		return nil, err
	}
	return find(ctx, f.node, k.criteria)
}

func (f *Filters) uninstallFilter(_ context.Context, params []byte) (any, error) {
	var id string
	if err := jsonrpc.Params(params, 1, &id); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.kept[id]
	delete(f.kept, id)
	return ok, nil
}

// judge refuses criteria that no new log can meet.
func (c *Criteria) judge() error {
	first, last := c.window()
	switch {
	case c.FromBlock != nil && *c.FromBlock == rpc.PendingBlockNumber, c.ToBlock != nil && *c.ToBlock == rpc.PendingBlockNumber:
		return errPending
	case first > last:
		return errReversed
	}
	return nil
}

// window returns the first and the last block whose logs a filter may see. A word means no bound.
func (c *Criteria) window() (first, last uint64) {
	last = math.MaxUint64
	if c.FromBlock != nil {
		first = uint64(max(*c.FromBlock, 0))
	}
	if c.ToBlock != nil && *c.ToBlock >= 0 {
		last = uint64(*c.ToBlock)
	}
	return first, last
}

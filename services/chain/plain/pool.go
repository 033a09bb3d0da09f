package main

import (
	"maps"
	"math/big"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Bounds of the transactions that wait.
const (
	maxWaiting  = 4096
	maxOfSender = 1024
)

// pool holds accepted transactions that are in no block yet.
type pool struct {
	mu   sync.RWMutex
	all  map[common.Hash]*types.Transaction
	from map[common.Address]map[uint64]*types.Transaction // by nonce
}

func newPool() *pool {
	return &pool{all: map[common.Hash]*types.Transaction{}, from: map[common.Address]map[uint64]*types.Transaction{}}
}

func (p *pool) size() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.all)
}

// get returns a transaction, or nil.
func (p *pool) get(hash common.Hash) *types.Transaction {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.all[hash]
}

// at returns the transaction of a sender with a nonce, or nil.
func (p *pool) at(from common.Address, nonce uint64) *types.Transaction {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.from[from][nonce]
}

// of counts the transactions of a sender, and adds up what they may cost.
func (p *pool) of(from common.Address) (count int, cost *big.Int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	cost = new(big.Int)
	for _, tx := range p.from[from] {
		cost.Add(cost, tx.Cost())
	}
	return len(p.from[from]), cost
}

func (p *pool) senders() []common.Address {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Keys(p.from))
}

func (p *pool) put(from common.Address, tx *types.Transaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from[from] == nil {
		p.from[from] = map[uint64]*types.Transaction{}
	}
	p.from[from][tx.Nonce()], p.all[tx.Hash()] = tx, tx
}

func (p *pool) remove(from common.Address, tx *types.Transaction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, tx.Hash())
	if delete(p.from[from], tx.Nonce()); len(p.from[from]) == 0 {
		delete(p.from, from)
	}
}

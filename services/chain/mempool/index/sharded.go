package index

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// shards is the number of locks of a sharded map: many times the number of cores.
const shards = 64

// hashes is a sharded map of entries by their hashes.
type hashes [shards]struct {
	mu  sync.RWMutex
	all map[common.Hash]*Entry
}

func (h *hashes) init() {
	for i := range h {
		h[i].all = map[common.Hash]*Entry{}
	}
}

// Put implements Index.
func (h *hashes) Put(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[hash[0]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[hash] = e
}

// Get implements Index.
func (h *hashes) Get(hash common.Hash) *Entry {
	s := &h[hash[0]%shards]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[hash]
}

// Delete implements Index.
func (h *hashes) Delete(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[hash[0]%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, hash)
}

// Sharded is Map with many locks. Walk orders all that is offered.
type Sharded struct {
	hashes
	offered [shards]struct {
		mu  sync.Mutex
		set map[*Entry]struct{}
	}
}

// NewSharded returns an empty Sharded.
func NewSharded() *Sharded {
	s := &Sharded{}
	s.hashes.init()
	for i := range s.offered {
		s.offered[i].set = map[*Entry]struct{}{}
	}
	return s
}

// shardOf is the shard of a sender's entries.
func shardOf(e *Entry) int { return int(e.From[common.AddressLength-1]) % shards }

// Offer implements Index.
func (s *Sharded) Offer(e *Entry) {
	o := &s.offered[shardOf(e)]
	o.mu.Lock()
	defer o.mu.Unlock()
	o.set[e] = struct{}{}
}

// Retract implements Index.
func (s *Sharded) Retract(e *Entry) {
	o := &s.offered[shardOf(e)]
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.set, e)
}

// Offered implements Index.
func (s *Sharded) Offered() int {
	n := 0
	for i := range s.offered {
		o := &s.offered[i]
		o.mu.Lock()
		n += len(o.set)
		o.mu.Unlock()
	}
	return n
}

// Walk implements Index.
func (s *Sharded) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	var offered []*Entry
	for i := range s.offered {
		o := &s.offered[i]
		o.mu.Lock()
		defer o.mu.Unlock() // after the walk
		for e := range o.set {
			offered = append(offered, e)
		}
	}
	walkAll(offered, base, visit,
		func(e *Entry) { delete(s.offered[shardOf(e)].set, e) },
		func(e *Entry) { s.offered[shardOf(e)].set[e] = struct{}{} })
}

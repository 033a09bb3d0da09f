package index

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// shards is the number of locks of a sharded map: many times the number of cores.
const shards = 64

// hashes is a sharded map of entries by their hashes.
type hashes []struct {
	mu  sync.RWMutex
	all map[common.Hash]*Entry
}

func newHashes(shards int) hashes {
	h := make(hashes, shards)
	for i := range h {
		h[i].all = map[common.Hash]*Entry{}
	}
	return h
}

// Put implements Index.
func (h hashes) Put(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[hash] = e
}

// Get implements Index.
func (h hashes) Get(hash common.Hash) *Entry {
	s := &h[int(hash[0])%len(h)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[hash]
}

// Delete implements Index.
func (h hashes) Delete(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, hash)
}

// maps is an index without an order: each walk makes one.
type maps struct {
	hashes
	offered []offered
}

// offered is a shard of the entries that are offered, by their senders.
type offered struct {
	mu  sync.Mutex
	set map[*Entry]struct{}
}

func newMaps(shards int) *maps {
	m := &maps{hashes: newHashes(shards), offered: make([]offered, shards)}
	for i := range m.offered {
		m.offered[i].set = map[*Entry]struct{}{}
	}
	return m
}

func (m *maps) shardOf(e *Entry) *offered {
	return &m.offered[int(e.From[common.AddressLength-1])%len(m.offered)]
}

// Offer implements Index.
func (m *maps) Offer(e *Entry) {
	o := m.shardOf(e)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.set[e] = struct{}{}
}

// Retract implements Index.
func (m *maps) Retract(e *Entry) {
	o := m.shardOf(e)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.set, e)
}

// Offered implements Index.
func (m *maps) Offered() (n int) {
	for i := range m.offered {
		o := &m.offered[i]
		o.mu.Lock()
		n += len(o.set)
		o.mu.Unlock()
	}
	return n
}

// Walk implements Index.
func (m *maps) Walk(base *uint256.Int, visit func(*Entry) (Verdict, *Entry)) {
	var f fees
	for i := range m.offered {
		o := &m.offered[i]
		o.mu.Lock()
		defer o.mu.Unlock() // after the walk
		for e := range o.set {
			f = append(f, e)
		}
	}
	f.rate(base)
	walk(&f, base, func(e *Entry) (Verdict, *Entry) {
		verdict, next := visit(e)
		if verdict == Taken {
			delete(m.shardOf(e).set, e)
		}
		if next != nil {
			m.shardOf(next).set[next] = struct{}{}
		}
		return verdict, next
	})
}

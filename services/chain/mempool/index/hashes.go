package index

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// shards is the number of locks of a sharded map: many times the number of cores.
const shards = 64

// hashes is a sharded map of entries by their hashes.
type hashes []struct {
	mu  sync.RWMutex
	all map[common.Hash]*Entry
}

func newHashes() hashes {
	h := make(hashes, shards)
	for i := range h {
		h[i].all = map[common.Hash]*Entry{}
	}
	return h
}

// Put adds an entry for Get. Its hash must be new.
func (h hashes) Put(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[hash] = e
}

// Get returns the entry of a transaction's hash, or nil.
func (h hashes) Get(hash common.Hash) *Entry {
	s := &h[int(hash[0])%len(h)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[hash]
}

// Delete removes an entry that was Put; it must not be offered.
func (h hashes) Delete(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, hash)
}

package mempool

import (
	"sync"

	"github.com/ethereum/go-ethereum/common"
)

// hashShards is the number of locks of a sharded map: many times the number of cores.
const hashShards = 64

// hashes is a sharded map of entries by their hashes.
type hashes []struct {
	mu  sync.RWMutex
	all map[common.Hash]*Entry
}

func newHashes() hashes {
	h := make(hashes, hashShards)
	for i := range h {
		h[i].all = map[common.Hash]*Entry{}
	}
	return h
}

// put adds an entry for get. Its hash must be new.
func (h hashes) put(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[hash] = e
}

// get returns the entry of a transaction's hash, or nil.
func (h hashes) get(hash common.Hash) *Entry {
	s := &h[int(hash[0])%len(h)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[hash]
}

// remove removes an entry that was put; it must not be offered.
func (h hashes) remove(e *Entry) {
	hash := e.Tx.Hash()
	s := &h[int(hash[0])%len(h)]
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, hash)
}

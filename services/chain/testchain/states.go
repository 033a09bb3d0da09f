package testchain

import (
	"context"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/hashdb"
)

// states are the tries of all states, in memory. Those of a fork have what was written since.
type states struct {
	*gethstate.MPTDatabase
	tries  *triedb.Database
	disk   ethdb.Database // has codes, and what a checkpoint had
	codes  *gethstate.CodeDB
	origin *origin // nil: the chain is no fork
	asking *asking // bounds what is asked of it; nil: each reader has bounds of its own
}

// by returns the states for a call, as far as another node is asked.
func (s *states) by(a *asking) *states {
	if s.origin == nil {
		return s
	}
	own := *s
	own.asking = a
	return &own
}

func newStates() *states {
	disk := rawdb.NewMemoryDatabase()
	tries := triedb.NewDatabase(disk, &triedb.Config{Preimages: true, HashDB: hashdb.Defaults})
	codes := gethstate.NewCodeDB(disk)
	return &states{MPTDatabase: gethstate.NewMPTDatabase(tries, codes), tries: tries, disk: disk, codes: codes}
}

// putCode keeps a code; none is nothing.
func (s *states) putCode(code []byte) error {
	if len(code) == 0 {
		return nil
	}
	batch := s.codes.NewBatchWithSize(1)
	batch.Put(crypto.Keccak256Hash(code), code)
	return batch.Commit()
}

// Reader implements gethstate.Database.
func (s *states) Reader(root common.Hash) (gethstate.Reader, error) {
	if s.origin == nil {
		return s.MPTDatabase.Reader(root)
	}
	accounts, err := trie.NewStateTrie(trie.StateTrieID(root), s.tries)
	if err != nil {
		return nil, err
	}
	asking := s.asking
	if asking == nil {
		asking = newAsking(context.Background())
	}
	return &forked{ContractCodeReader: s.codes.Reader(), states: s, asking: asking, root: root, accounts: accounts, slots: map[common.Address]*trie.StateTrie{}}, nil
}

// OpenTrie implements gethstate.Database.
func (s *states) OpenTrie(root common.Hash) (gethstate.Trie, error) {
	t, err := s.MPTDatabase.OpenTrie(root)
	return s.keeping(t), err
}

// OpenStorageTrie implements gethstate.Database.
func (s *states) OpenStorageTrie(state common.Hash, of common.Address, root common.Hash, self gethstate.Trie) (gethstate.Trie, error) {
	t, err := s.MPTDatabase.OpenStorageTrie(state, of, root, self)
	return s.keeping(t), err
}

// keeping is a trie of a fork, which has what was removed, too: the origin may have something there.
func (s *states) keeping(t gethstate.Trie) gethstate.Trie {
	if plain, ok := t.(*trie.StateTrie); ok && s.origin != nil {
		return removals{plain}
	}
	return t
}

package state

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/triedb"
)

// Past returns a state of which the accounts and slots can be read, and that is not kept with its
// tries: code can be executed over it, and it has neither proofs nor other roots than that of its
// header.
func Past(header *types.Header, r gethstate.Reader) (*gethstate.StateDB, error) {
	return gethstate.NewWithReader(header.Root, rootless{r}, r)
}

// rootless is the database of a state without tries.
type rootless struct{ reader gethstate.Reader }

func (rootless) Type() gethstate.DatabaseType                     { return gethstate.TypeMPT }
func (d rootless) Reader(common.Hash) (gethstate.Reader, error)   { return d.reader, nil }
func (rootless) Iteratee(common.Hash) (gethstate.Iteratee, error) { return nil, ErrNoProofs }
func (rootless) OpenTrie(root common.Hash) (gethstate.Trie, error) {
	return noTrie{root: root}, nil
}
func (rootless) TrieDB() *triedb.Database            { return nil }
func (rootless) Commit(*gethstate.StateUpdate) error { return ErrNoProofs }
func (rootless) OpenStorageTrie(_ common.Hash, _ common.Address, root common.Hash, _ gethstate.Trie) (gethstate.Trie, error) {
	return noTrie{root: root}, nil
}

// ErrNoProofs means that of a state that is not one of the last the tries are not there.
var ErrNoProofs = errors.New("there are proofs of the last 128 blocks only: older states are kept without their tries, whatever the setting history says")

// noTrie takes what a StateDB writes when it computes a root, and keeps the root that it had.
type noTrie struct {
	NoTrie
	root common.Hash
}

func (noTrie) UpdateAccount(common.Address, *types.StateAccount, int) error { return nil }
func (noTrie) UpdateStorage(common.Address, []byte, []byte) error           { return nil }
func (noTrie) DeleteAccount(common.Address) error                           { return nil }
func (noTrie) DeleteStorage(common.Address, []byte) error                   { return nil }
func (noTrie) UpdateContractCode(common.Address, common.Hash, []byte) error { return nil }
func (t noTrie) Hash() common.Hash                                          { return t.root }
func (noTrie) Prove([]byte, ethdb.KeyValueWriter) error                     { return ErrNoProofs }

package state

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
)

// ErrNoTrie means that a StateDB asks for what states have no trie for.
var ErrNoTrie = errors.New("these states are not kept with tries that have this")

// NoTrie has those methods of gethstate.Trie that a StateDB does not call over states that are not kept
// in tries, so that they fail if it does. What stands in place of a trie embeds it, and has the others.
type NoTrie struct{}

func (NoTrie) GetKey([]byte) []byte                                         { return nil }
func (NoTrie) GetAccount(common.Address) (*types.StateAccount, error)       { return nil, ErrNoTrie }
func (NoTrie) PrefetchAccount([]common.Address) error                       { return ErrNoTrie }
func (NoTrie) GetStorage(common.Address, []byte) ([]byte, error)            { return nil, ErrNoTrie }
func (NoTrie) PrefetchStorage(common.Address, [][]byte) error               { return ErrNoTrie }
func (NoTrie) UpdateAccount(common.Address, *types.StateAccount, int) error { return ErrNoTrie }
func (NoTrie) UpdateStorage(common.Address, []byte, []byte) error           { return ErrNoTrie }
func (NoTrie) UpdateStorageBatch(common.Address, [][]byte, [][]byte) error  { return ErrNoTrie }
func (NoTrie) DeleteAccount(common.Address) error                           { return ErrNoTrie }
func (NoTrie) DeleteStorage(common.Address, []byte) error                   { return ErrNoTrie }
func (NoTrie) UpdateContractCode(common.Address, common.Hash, []byte) error { return ErrNoTrie }
func (NoTrie) Commit(bool) (common.Hash, *trienode.NodeSet)                 { return common.Hash{}, nil }
func (NoTrie) Witness() map[string][]byte                                   { return nil }
func (NoTrie) NodeIterator([]byte) (trie.NodeIterator, error)               { return nil, ErrNoTrie }
func (NoTrie) IsUBT() bool                                                  { return false }
func (NoTrie) UpdateAccountBatch([]common.Address, []*types.StateAccount, []int) error {
	return ErrNoTrie
}

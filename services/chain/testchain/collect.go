package testchain

import (
	"cmp"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/triedb/database"
)

// What states may have that only blocks had which were taken back, beside twice what the others have.
const (
	mostGone     = 1000 // blocks and writes
	nodesOfBlock = 10   // of tries, which a block or a write adds
)

// collect leaves to the garbage collector the tries that no block and no snapshot has any more: those of the
// others are copied, which is rare, as what is gone is more than what is left. Executions that read the old ones
// go on with them: Dereference would take them away. The tries of a fork stay until it ends, since codes of its
// origin are read into its states meanwhile.
func (c *Chain) collect() {
	if c.origin != nil || c.gone < max(mostGone, 2*max(len(c.blocks), c.left/nodesOfBlock)) {
		return
	}
	c.gone = 0 // after an error, too, which would come again with the next call
	states, err := c.states.beside()
	if err != nil {
		return
	}
	t := &copying{to: states.disk, seen: map[common.Hash]bool{types.EmptyRootHash: true}}
	if t.from, err = c.states.tries.NodeReader(c.root); err != nil {
		return
	}
	err = t.trie(c.root, true)
	for _, s := range c.blocks {
		err = cmp.Or(err, t.trie(s.root, true))
	}
	for _, s := range c.snapshots {
		err = cmp.Or(err, t.trie(s.root, true))
	}
	if err == nil {
		c.states, c.left = states, len(t.seen)
	}
}

// beside returns states with the codes and preimages of others, and none of their tries.
func (s *states) beside() (*states, error) {
	s.tries.WritePreimages()
	other := newStates()
	all := s.disk.NewIterator(nil, nil)
	defer all.Release()
	for all.Next() {
		if len(all.Key()) == common.HashLength { // a node of a trie
			continue
		}
		if err := other.disk.Put(all.Key(), all.Value()); err != nil {
			return nil, err
		}
	}
	return other, all.Error()
}

// copying copies tries.
type copying struct {
	from database.NodeReader
	to   ethdb.KeyValueWriter
	seen map[common.Hash]bool // nodes that were copied
}

// trie copies what was not copied of a trie, and of those of the accounts that it has.
func (t *copying) trie(hash common.Hash, accounts bool) error {
	if t.seen[hash] {
		return nil
	}
	t.seen[hash] = true
	node, err := t.from.Node(common.Hash{}, nil, hash)
	if err != nil {
		return err
	}
	rawdb.WriteLegacyTrieNode(t.to, hash, node)
	trie.ForGatherChildren(node, func(child common.Hash) { err = cmp.Or(err, t.trie(child, accounts)) })
	if err != nil || !accounts {
		return err
	}
	account, err := accountIn(node)
	if account == nil {
		return err
	}
	return t.trie(account.Root, false)
}

// accountIn returns the account of a node that is a leaf; nil: it is another one. A leaf with an account is
// large enough to be a node of its own.
func accountIn(node []byte) (*types.StateAccount, error) {
	parts, _, err := rlp.SplitList(node)
	if err != nil {
		return nil, err
	}
	if count, err := rlp.CountValues(parts); err != nil || count != 2 {
		return nil, err
	}
	key, rest, err := rlp.SplitString(parts)
	if err != nil || len(key) == 0 || key[0]&0x20 == 0 { // not the end of a path
		return nil, err
	}
	value, _, err := rlp.SplitString(rest)
	if err != nil {
		return nil, err
	}
	account := new(types.StateAccount)
	return account, rlp.DecodeBytes(value, account)
}
